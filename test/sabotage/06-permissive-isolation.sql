-- The isolation policy is made again without "as restrictive": the one beside it opens the table.
-- doctor: 0006_template_policy
-- zero-count: public.orders
-- cross-tenant: lets a row be given to another tenant: public.orders
-- cross-tenant: lets a row be inserted for another tenant: public.orders
-- cross-tenant: lets another tenant's rows be deleted: public.orders
-- cross-tenant: lets another tenant's rows be updated: public.orders
-- cross-tenant: shows another tenant's rows: public.orders
-- cross-tenant: stays with its first tenant: a plan
drop policy tenant_isolation on public.orders;
create policy tenant_isolation on public.orders to rowhouse_app
  using (tenant_id = (select rowhouse.current_tenant()))
  with check (tenant_id = (select rowhouse.current_tenant()));
