-- For scripts/dump-schema.ts: the functions and procedures of our schemas, with all their attributes.
select pg_catalog.format('-- owner: %s', pg_catalog.pg_get_userbyid(p.proowner)) || E'\n' ||
  pg_catalog.rtrim(pg_catalog.pg_get_functiondef(p.oid), E'\n') || ';' as ddl
from pg_catalog.pg_proc p
join pg_catalog.pg_namespace n on n.oid = p.pronamespace
where n.nspname in ('rowhouse', 'public', 'global', 'extensions') and p.prokind <> 'a'
order by n.nspname collate "C", p.proname collate "C", pg_catalog.oidvectortypes(p.proargtypes) collate "C";
