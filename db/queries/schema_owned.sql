-- For scripts/dump-schema.ts: everything that belongs to one of our roles, of whatever kind. So nothing can be made that
-- the golden file would not show.
select pg_catalog.format('%s: %s %s', r.rolname, o.type, o.identity) as ddl
from pg_catalog.pg_shdepend d
join pg_catalog.pg_roles r on r.oid = d.refobjid
cross join lateral pg_catalog.pg_identify_object(d.classid, d.objid, d.objsubid) as o
where d.deptype = 'o'
  and d.dbid = (select b.oid from pg_catalog.pg_database b where b.datname = pg_catalog.current_database())
  and r.rolname in ('rowhouse_owner', 'rowhouse_app', 'rowhouse_worker', 'rowhouse_queue')
order by 1;
