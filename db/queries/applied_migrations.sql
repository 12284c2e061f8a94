-- The ledger's lines of these sources ($1, text[]).
select m.id, m.checksum, m.statements_done, m.applied_at is not null as is_applied
from rowhouse.migrations m
where pg_catalog.split_part(m.id, '/', 1) = any ($1::text[])
order by m.id;
