-- A target's ($1) lines in the ledger of these sources ($2, text[]).
select m.id, m.checksum, m.statements_done, m.state = 'applied' as is_applied
from rowhouse.migrations m
where m.target = $1 and pg_catalog.split_part(m.id, '/', 1) = any ($2::text[])
order by m.id;
