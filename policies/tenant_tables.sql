-- The tenant tables of the catalog, for the zero-count check. policies/catalog.sql stands in front of it.
select
  t.schema,
  t.name,
  t.label,
  pg_catalog.quote_ident(t.tenant_column) as "tenantColumn"
from tenant_tables t
order by t.schema, t.name
