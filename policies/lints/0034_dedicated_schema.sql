-- A tenant's own schema is the owner's, and one role may look into it: the tenant's.
select
  '0034_dedicated_schema' as rule,
  'error' as level,
  d.name as schema,
  null as object,
  pg_catalog.format('The schema %s %s.', d.name, problem) as detail,
  remedy as remediation,
  pg_catalog.format('0034_dedicated_schema:%s:%s', d.name, who) as key
from dedicated_schemas d
join pg_catalog.pg_namespace n on n.oid = d.oid
cross join lateral (
  select s.name, 'can be used by ' || s.name, pg_catalog.format('Run `revoke usage on schema %I from %s`.', d.name, s.name)
  from pg_catalog.aclexplode(n.nspacl) a
  join serving_roles s on s.oid = a.grantee
  where a.privilege_type = 'USAGE' and s.name <> d.role
  union all
  select 'owner', 'belongs to ' || o.rolname, pg_catalog.format('Run `alter schema %I owner to rowhouse_owner`.', d.name)
  from pg_catalog.pg_roles o
  where o.oid = n.nspowner and o.rolname <> 'rowhouse_owner'
  union all
  select 'role', 'has no role ' || d.role, 'Provision the tenant again: `rowhouse tenant move`.'
  where pg_catalog.to_regrole(d.role) is null
) as found (who, problem, remedy)
