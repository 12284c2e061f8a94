-- Sources of the application's migrations that the shared schema has and that are not among these ($1, text[]).
select distinct pg_catalog.split_part(m.id, '/', 1) as source
from rowhouse.migrations m
where m.target = 'shared' and pg_catalog.split_part(m.id, '/', 1) <> all (array['rowhouse'] || $1::text[])
order by 1;
