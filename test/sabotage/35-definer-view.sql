-- A view reads with its owner's rights.
-- doctor: 0024_view_not_invoker
-- cross-tenant: shows another tenant's rows: public.all_orders
create view public.all_orders as select o.tenant_id, o.id, o.total_cents from public.orders o;
grant select on public.all_orders to rowhouse_app;
