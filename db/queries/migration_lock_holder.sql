-- Who holds a lock of runners of this database (two numbers: $1 and $2). Of sessions of other roles the address is hidden.
select l.pid, l.pid = pg_catalog.pg_backend_pid() as held, a.client_addr::text as address
from pg_catalog.pg_locks l
left join pg_catalog.pg_stat_activity a on a.pid = l.pid
where l.locktype = 'advisory'
  and l.granted
  and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
  and l.classid = $1::oid and l.objid = $2::oid and l.objsubid = 2
order by held desc;
