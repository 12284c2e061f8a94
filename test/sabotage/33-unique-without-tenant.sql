-- An e-mail address is unique over all tenants.
-- doctor: 0021_unique_without_tenant
-- cross-tenant: tells what another tenant has: public.customers
alter table public.customers add constraint customers_email_everywhere unique (email);
