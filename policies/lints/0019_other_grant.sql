-- The roles that serve have no use for foreign servers, settings of the server, large objects, or functions of the server
-- that are not everybody's.
select
  '0019_other_grant' as rule,
  'error' as level,
  null as schema,
  target.identity as object,
  pg_catalog.format('Role "%s" was granted rights on the %s %s.', s.name, target.type, target.identity) as detail,
  pg_catalog.format('Revoke them from %s.', s.name) as remediation,
  pg_catalog.format('0019_other_grant:%s:%s', s.name, target.identity) as key
from serving_roles s
join pg_catalog.pg_shdepend d
  on d.refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass and d.refobjid = s.oid and d.deptype = 'a'
cross join lateral pg_catalog.pg_identify_object(d.classid, d.objid, d.objsubid) as target
where d.dbid in (0, (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database()))
  -- These have rules of their own, as far as they are not the server's.
  and not (
    d.classid = any (array['pg_catalog.pg_class', 'pg_catalog.pg_proc', 'pg_catalog.pg_type']::pg_catalog.regclass[])
    and target.schema <> 'pg_catalog'
  )
  and d.classid <> all (
    array['pg_catalog.pg_namespace', 'pg_catalog.pg_database', 'pg_catalog.pg_default_acl']::pg_catalog.regclass[]
  )
