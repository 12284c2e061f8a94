-- A grant on columns reaches a table past its own grants, and stands in no list of them.
select
  '0014_column_grant' as rule,
  'error' as level,
  r.schema,
  r.name as object,
  pg_catalog.format('%s holds %s on column %I of %s.', s.name, privileges, a.attname, r.label) as detail,
  pg_catalog.format('Run `revoke %s (%I) on %s from %s`.', privileges, a.attname, r.label, s.name) as remediation,
  pg_catalog.format('0014_column_grant:%s.%s.%s:%s:%s', r.schema, r.name, a.attname, s.name, privileges) as key
from relations r
join pg_catalog.pg_attribute a on a.attrelid = r.oid and a.attacl is not null and not a.attisdropped
cross join serving_roles s
cross join lateral (
  select pg_catalog.string_agg(acl.privilege_type, ', ' order by acl.privilege_type)
  from pg_catalog.aclexplode(a.attacl) as acl
  where acl.grantee = s.oid
) as held (privileges)
where privileges is not null
