-- A reference is by id alone.
-- doctor: 0021_unique_without_tenant, 0022_foreign_key_without_tenant
-- cross-tenant: can refer to another tenant's row: public.orders
alter table public.customers add constraint customers_id_key unique (id);
alter table public.orders
  drop constraint orders_customer_id_fkey,
  add constraint orders_customer_id_fkey foreign key (customer_id) references public.customers (id) on delete cascade;
