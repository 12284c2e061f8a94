-- A row that belongs to nobody must not depend on a tenant's: whoever writes the one learns of the other.
select
  '0023_foreign_key_into_tenant_table' as rule,
  'error' as level,
  r.schema,
  r.name as object,
  pg_catalog.format('The foreign key %I of %s, which is no tenant table, points into the tenant table %s.',
    k.conname, r.label, target.label) as detail,
  'Turn the reference round, or make the referring table a tenant table.' as remediation,
  pg_catalog.format('0023_foreign_key_into_tenant_table:%s.%s.%s', r.schema, r.name, k.conname) as key
from relations r
join pg_catalog.pg_constraint k on k.conrelid = r.oid and k.contype = 'f' and k.conparentid = 0
join tenant_tables target on target.oid = k.confrelid
where not exists (select from tenant_tables t where t.oid = r.oid)
