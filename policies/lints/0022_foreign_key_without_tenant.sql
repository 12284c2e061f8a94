-- Foreign keys are checked past row-level security: without the tenant on both sides a row can point into another tenant,
-- learn what is there, and be deleted from there by a cascade.
select
  '0022_foreign_key_without_tenant' as rule,
  'error' as level,
  t.schema,
  t.name as object,
  pg_catalog.format('The foreign key %I of %s to %s does not pair %I with %I.',
    k.conname, t.label, target.label, t.tenant_column, target.tenant_column) as detail,
  'Make it `foreign key (tenant_id, …) references … (tenant_id, …)`, as tenantTable() does.' as remediation,
  pg_catalog.format('0022_foreign_key_without_tenant:%s.%s.%s', t.schema, t.name, k.conname) as key
from tenant_tables t
join pg_catalog.pg_constraint k on k.conrelid = t.oid and k.contype = 'f' and k.conparentid = 0
join tenant_tables target on target.oid = k.confrelid
where not exists (
  select from rows from (pg_catalog.unnest(k.conkey), pg_catalog.unnest(k.confkey)) as pair (here, there)
  where here = t.tenant_attnum and there = target.tenant_attnum
)
