-- A materialized view has no wall.
-- doctor: 0001_unclassified_table, 0013_table_grant, 0025_materialized_view
-- cross-tenant: shows another tenant's rows: public.totals
create materialized view public.totals as
  select o.tenant_id, pg_catalog.sum(o.total_cents) as total from public.orders o group by o.tenant_id;
grant select on public.totals to rowhouse_app;
