-- How many transactions each tenant has open, or waits with, at this moment: every one of them holds the tenant's lock, shared.
select t.id, count(*)::integer as transactions
from pg_catalog.pg_locks l
join rowhouse.tenants t on rowhouse.tenant_lock(t.id) = (l.classid::bigint << 32 | l.objid::bigint)
where l.locktype = 'advisory' and l.objsubid = 1 and l.mode = 'ShareLock'
  and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
group by t.id;
