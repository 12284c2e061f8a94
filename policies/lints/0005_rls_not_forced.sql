-- Without FORCE the owner is not held to the policies, and neither are its views and SECURITY DEFINER functions.
select
  '0005_rls_not_forced' as rule,
  'error' as level,
  t.schema,
  t.name as object,
  pg_catalog.format('Row-level security is not forced on the tenant table %s.', t.label) as detail,
  'Run `rowhouse migrate`, which secures every tenant table again.' as remediation,
  pg_catalog.format('0005_rls_not_forced:%s.%s', t.schema, t.name) as key
from tenant_tables t
where not t.rls_forced and not t.is_partition
