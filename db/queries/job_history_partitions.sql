-- The days' partitions of the job history, the oldest first, and until when each reaches. The one for the rest is none of them.
select c.relname::text as name,
  (pg_catalog.regexp_match(pg_catalog.pg_get_expr(c.relpartbound, c.oid), $$TO \('([^']+)'\)$$))[1]::timestamptz as "upTo"
from pg_catalog.pg_inherits i
join pg_catalog.pg_class c on c.oid = i.inhrelid
where i.inhparent = 'rowhouse.job_history'::pg_catalog.regclass
  and pg_catalog.pg_get_expr(c.relpartbound, c.oid) <> 'DEFAULT'
order by 2;
