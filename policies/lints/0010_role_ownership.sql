-- An owner can alter, drop and grant. The roles that serve own nothing, large objects and functions included.
select
  '0010_role_ownership' as rule,
  'error' as level,
  null as schema,
  owned.identity as object,
  pg_catalog.format('Role "%s" owns the %s %s.', s.name, owned.type, owned.identity) as detail,
  'Give it to the owner role: `alter … owner to rowhouse_owner`. Large objects have no tenant: use a bytea column.' as remediation,
  pg_catalog.format('0010_role_ownership:%s:%s', s.name, owned.identity) as key
from serving_roles s
join pg_catalog.pg_shdepend d
  on d.refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass and d.refobjid = s.oid and d.deptype = 'o'
cross join lateral pg_catalog.pg_identify_object(d.classid, d.objid, d.objsubid) as owned
where d.dbid in (0, (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database()))
