-- A policy is dropped.
-- fault
drop policy owner_access on public.orders;
-- finding 0006_template_policy:public.orders.owner_access
--   Policy owner_access on public.orders is missing.
-- fix
create policy owner_access on public.orders to rowhouse_owner using (true) with check (true);

-- A policy is made again, permissive, for everybody, for one command, with a cast that no index can follow.
-- fault
drop policy tenant_isolation on public.orders;
create policy tenant_isolation on public.orders for update using (tenant_id::text = pg_catalog.current_setting('app.tenant_id', true));
-- finding 0006_template_policy:public.orders.tenant_isolation
--   Policy tenant_isolation on public.orders is permissive, is not for rowhouse_app alone, is for another command than it should be, has USING ((tenant_id)::text = current_setting('app.tenant_id'::text, true)), has WITH CHECK nothing.
-- fix
drop policy tenant_isolation on public.orders;
create policy tenant_isolation on public.orders as restrictive to rowhouse_app
  using (tenant_id = (select rowhouse.current_tenant()))
  with check (tenant_id = (select rowhouse.current_tenant()));

-- A function of the same name in another schema is another function.
-- fault
create function public.current_tenant() returns uuid language sql stable return null::uuid;
alter policy tenant_isolation on public.orders using (tenant_id = (select public.current_tenant()));
-- finding 0006_template_policy:public.orders.tenant_isolation
--   Policy tenant_isolation on public.orders has USING (tenant_id = ( SELECT public.current_tenant() AS current_tenant)).
-- fix
alter policy tenant_isolation on public.orders using (tenant_id = (select rowhouse.current_tenant()));

-- The framework's own tables are held to theirs.
-- fault
alter policy tenant_isolation on rowhouse.tenants using (true);
-- finding 0006_template_policy:rowhouse.tenants.tenant_isolation
--   Policy tenant_isolation on rowhouse.tenants has USING true.
-- fix
alter policy tenant_isolation on rowhouse.tenants using (id = (select rowhouse.current_tenant()));
