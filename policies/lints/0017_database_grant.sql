-- A temporary table outlives the transaction, and with it the tenant.
select
  '0017_database_grant' as rule,
  'error' as level,
  null as schema,
  d.datname::text as object,
  pg_catalog.format('%s holds %s on database %I.', s.name, a.privilege_type, d.datname) as detail,
  pg_catalog.format('Run `rowhouse init-database`, or `revoke %s on database %I from %s`.', a.privilege_type, d.datname, s.name)
    as remediation,
  pg_catalog.format('0017_database_grant:%s:%s', s.name, a.privilege_type) as key
from pg_catalog.pg_database d
cross join pg_catalog.aclexplode(coalesce(d.datacl, pg_catalog.acldefault('d', d.datdba))) as a
join serving_roles s on s.oid = a.grantee
where d.datname = pg_catalog.current_database() and a.privilege_type in ('TEMPORARY', 'CREATE')
