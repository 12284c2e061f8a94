-- A report gets a policy of its own, for everybody.
-- fault
create policy reporting on public.orders for select using (true);
create policy domains_access on rowhouse.domains to rowhouse_app using (true);
-- finding 0007_extra_policy:public.orders.reporting
--   Policy reporting on public.orders is permissive and not the template's; it admits PUBLIC to rows USING true.
-- finding 0007_extra_policy:rowhouse.domains.domains_access
--   Policy domains_access on rowhouse.domains is permissive and not the template's; it admits rowhouse_app to rows USING true.
-- fix
drop policy reporting on public.orders;
create policy reporting on public.orders as restrictive for delete using (total_cents = 0);
drop policy domains_access on rowhouse.domains;
