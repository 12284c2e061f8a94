-- Who holds a tenant's lock ($1 uuid): the sessions with a transaction of that tenant open. pg_locks shows a lock of one
-- 64-bit number as two of 32 bits.
select pg_catalog.format('server process %s (%s)', l.pid,
    pg_catalog.concat_ws(', ', a.usename, nullif(a.application_name, ''))) as who
from pg_catalog.pg_locks l
left join pg_catalog.pg_stat_activity a on a.pid = l.pid
where l.locktype = 'advisory' and l.granted and l.objsubid = 1
  and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
  and (l.classid::bigint << 32 | l.objid::bigint) = rowhouse.tenant_lock($1::uuid)
  and l.pid <> pg_catalog.pg_backend_pid()
order by l.pid;
