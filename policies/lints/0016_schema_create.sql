-- Whoever may create in a schema that others look names up in can put a table or a function in the way.
select
  '0016_schema_create' as rule,
  'error' as level,
  n.nspname::text as schema,
  null as object,
  pg_catalog.format('%s may create objects in schema %I.', s.name, n.nspname) as detail,
  pg_catalog.format('Run `revoke create on schema %I from %s`.', n.nspname, s.name) as remediation,
  pg_catalog.format('0016_schema_create:%s:%s', n.nspname, s.name) as key
from pg_catalog.pg_namespace n
cross join pg_catalog.aclexplode(n.nspacl) as a
join serving_roles s on s.oid = a.grantee
where a.privilege_type = 'CREATE'
