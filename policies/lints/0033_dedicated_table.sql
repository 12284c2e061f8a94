-- A table in a tenant's own schema has no row-level security: that all its rows are that tenant's, a check says.
select
  '0033_dedicated_table' as rule,
  'error' as level,
  t.schema,
  t.name as object,
  pg_catalog.format('The table %s is in the schema of tenant %s, but %s.', t.label, t.tenant, problem) as detail,
  'Run `rowhouse migrate`, which secures every table of a dedicated schema again; give one without tenant_id to schema global.'
    as remediation,
  pg_catalog.format('0033_dedicated_table:%s.%s', t.schema, t.name) as key
from dedicated_tables t
cross join lateral (
  select case
    when not exists (
      select from pg_catalog.pg_attribute a
      where a.attrelid = t.oid and a.attname = 'tenant_id' and not a.attisdropped
    ) then 'it has no column tenant_id'
    when not exists (
      select from pg_catalog.pg_constraint k
      where k.conrelid = t.oid and k.conname = 'tenant_id_is_own' and k.convalidated
        and pg_catalog.pg_get_constraintdef(k.oid) = pg_catalog.format('CHECK ((tenant_id = %L::uuid))', t.tenant)
    ) then 'no check holds its rows to that tenant'
  end
) as found (problem)
where problem is not null
