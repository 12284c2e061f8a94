-- What is written is no longer checked.
-- doctor: 0006_template_policy
-- zero-count: public.orders, public.visits
-- cross-tenant: lets a row be given to another tenant: public.orders, public.visits
-- cross-tenant: lets a row be inserted for another tenant: public.orders, public.visits
alter policy tenant_isolation on public.visits with check (true);
alter policy tenant_isolation on public.orders with check (true);
