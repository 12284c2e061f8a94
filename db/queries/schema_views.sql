-- For scripts/dump-schema.ts: the views and materialised views of our schemas. Before version 16 PostgreSQL prints the
-- columns of a view over one table with the table's name, so a golden file with views is that of 16 and later.
select pg_catalog.concat(
    '-- owner: ', pg_catalog.pg_get_userbyid(c.relowner), E'\n',
    'create ', case c.relkind when 'm' then 'materialized ' end, 'view ', pg_catalog.format('%I.%I', n.nspname, c.relname),
    ' with (' || pg_catalog.array_to_string(c.reloptions, ', ') || ')', E' as\n', pg_catalog.pg_get_viewdef(c.oid, true)
  ) as ddl
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname in ('rowhouse', 'public', 'global', 'extensions') and c.relkind in ('v', 'm')
order by n.nspname collate "C", c.relname collate "C";
