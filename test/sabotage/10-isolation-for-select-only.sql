-- Reading is isolated, writing is not.
-- doctor: 0006_template_policy
-- zero-count: public.orders
-- cross-tenant: lets a row be given to another tenant: public.orders
-- cross-tenant: lets a row be inserted for another tenant: public.orders
-- cross-tenant: lets another tenant's rows be deleted: public.orders
drop policy tenant_isolation on public.orders;
create policy tenant_isolation on public.orders as restrictive for select to rowhouse_app
  using (tenant_id = (select rowhouse.current_tenant()));
