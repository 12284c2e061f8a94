-- Indexes that CREATE INDEX CONCURRENTLY or REINDEX CONCURRENTLY left behind when it failed: writes maintain them, no query
-- uses them, and IF NOT EXISTS takes them for done. (relkind I, on a partitioned table, is invalid by design until every
-- partition has its index.)
select pg_catalog.format('%I.%I', n.nspname, c.relname) as index
from pg_catalog.pg_index i
join pg_catalog.pg_class c on c.oid = i.indexrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where not i.indisvalid
  and c.relkind = 'i'
  and n.nspname not like 'pg\_%'
order by 1;
