-- All policies are dropped: nobody sees anything any more, the owner's backfills included.
-- doctor: 0006_template_policy
-- zero-count: public.orders
-- cross-tenant: hides the tenant's own rows: public.orders
drop policy tenant_isolation on public.orders;
drop policy tenant_access on public.orders;
drop policy owner_access on public.orders;
