-- Policies count for nothing until row-level security is switched on.
select
  '0004_rls_disabled' as rule,
  'error' as level,
  t.schema,
  t.name as object,
  pg_catalog.format('Row-level security is off on the tenant table %s.', t.label) as detail,
  'Run `rowhouse migrate`, which secures every tenant table again.' as remediation,
  pg_catalog.format('0004_rls_disabled:%s.%s', t.schema, t.name) as key
from tenant_tables t
where not t.rls_enabled and not t.is_partition
