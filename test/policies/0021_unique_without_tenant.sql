-- Unique over all tenants: a sign-up form that says "this address is taken".
-- fault
alter table public.customers add constraint customers_email_everywhere unique (email);
create unique index customers_lower_email on public.customers (pg_catalog.lower(email)) include (tenant_id);
create unique index visits_rest_id on public.visits_rest (id);
alter table public.orders add constraint orders_apart exclude using btree (total_cents with =) where (total_cents < 0);
-- finding 0021_unique_without_tenant:public.customers.customers_email_everywhere
--   The unique index customers_email_everywhere on public.customers compares rows of all tenants: tenant_id is not among its columns.
-- finding 0021_unique_without_tenant:public.customers.customers_lower_email
--   The unique index customers_lower_email on public.customers compares rows of all tenants: tenant_id is not among its columns.
-- finding 0021_unique_without_tenant:public.orders.orders_apart
--   The exclusion constraint orders_apart on public.orders compares rows of all tenants: tenant_id is not among its columns.
-- finding 0021_unique_without_tenant:public.visits_rest.visits_rest_id
--   The unique index visits_rest_id on public.visits_rest compares rows of all tenants: tenant_id is not among its columns.
-- fix
alter table public.customers drop constraint customers_email_everywhere;
drop index public.customers_lower_email, public.visits_rest_id;
create unique index customers_lower_email on public.customers (tenant_id, pg_catalog.lower(email));
alter table public.orders drop constraint orders_apart;
