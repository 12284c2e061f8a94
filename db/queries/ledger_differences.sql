-- Migrations of the application that one of two places has and the other has not: none when both have the same tables.
--   $1 text: the dedicated schema
select m.id, pg_catalog.min(m.target) as target
from rowhouse.migrations m
where m.target in ('shared', $1::text) and m.state = 'applied' and m.id not like 'rowhouse/%'
group by m.id
having count(*) = 1
order by m.id;
