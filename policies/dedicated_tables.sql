-- The tables of tenants' own schemas, for the zero-count check: the application must not reach them without having become the
-- tenant's role. policies/catalog.sql stands in front of it.
select
  t.schema,
  t.name,
  t.label,
  'tenant_id' as "tenantColumn"
from dedicated_tables t
where exists (
  select from pg_catalog.pg_attribute a
  where a.attrelid = t.oid and a.attname = 'tenant_id' and not a.attisdropped
)
order by t.schema, t.name
