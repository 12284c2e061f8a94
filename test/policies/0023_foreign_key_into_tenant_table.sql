-- A global table points at a tenant's row.
-- fault
alter table public.customers add constraint customers_id_key unique (id);
alter table global.plans add column first_customer uuid
  constraint plans_first_customer_fkey references public.customers (id);
-- finding 0023_foreign_key_into_tenant_table:global.plans.plans_first_customer_fkey
--   The foreign key plans_first_customer_fkey of global.plans, which is no tenant table, points into the tenant table public.customers.
-- fix
alter table global.plans drop column first_customer;
