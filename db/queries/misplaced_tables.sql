-- Tables of schema global, which every tenant reads, that have a tenant_id column.
select pg_catalog.format('%I.%I', n.nspname, c.relname) as "table"
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
where n.nspname = 'global' and c.relkind in ('r', 'p')
order by 1;
