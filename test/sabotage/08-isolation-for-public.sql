-- Isolation for everybody, permissive and alone: the policies that tutorials show. It holds, and the owner is locked out.
-- doctor: 0006_template_policy
-- zero-count: public.orders
drop policy tenant_isolation on public.orders;
drop policy tenant_access on public.orders;
drop policy owner_access on public.orders;
create policy tenant_isolation on public.orders using (tenant_id = (select rowhouse.current_tenant()));
