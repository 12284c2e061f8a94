-- A query of a partition by its own name is not held to the policies of the table it is part of.
select
  '0015_partition_grant' as rule,
  'error' as level,
  t.schema,
  t.name as object,
  pg_catalog.format('%s holds %s on %s, which is a partition: queries by its own name pass the wall.',
    s.name, privileges, t.label) as detail,
  pg_catalog.format('Run `revoke all on %s from %s`: the rows are reached through the parent.', t.label, s.name) as remediation,
  pg_catalog.format('0015_partition_grant:%s.%s:%s', t.schema, t.name, s.name) as key
from tenant_tables t
cross join serving_roles s
cross join lateral (
  select pg_catalog.string_agg(acl.privilege_type, ', ' order by acl.privilege_type)
  from pg_catalog.aclexplode(t.acl) as acl
  where acl.grantee = s.oid
) as held (privileges)
where t.is_partition and privileges is not null
