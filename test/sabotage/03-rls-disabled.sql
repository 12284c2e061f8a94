-- Row-level security is switched off.
-- doctor: 0004_rls_disabled
-- zero-count: public.orders
-- cross-tenant: lets a row be given to another tenant: public.orders
-- cross-tenant: lets a row be inserted for another tenant: public.orders
-- cross-tenant: lets another tenant's rows be deleted: public.orders
-- cross-tenant: lets another tenant's rows be updated: public.orders
-- cross-tenant: shows another tenant's rows: public.orders
-- cross-tenant: stays with its first tenant: a plan
alter table public.orders disable row level security;
