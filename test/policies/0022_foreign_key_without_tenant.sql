-- A reference by id alone, and one that pairs the tenant with something else.
-- fault
alter table public.customers add constraint customers_id_key unique (id);
alter table public.orders
  add constraint orders_customer_alone foreign key (customer_id) references public.customers (id) on delete cascade,
  add constraint orders_customer_crossed foreign key (customer_id, tenant_id) references public.customers (tenant_id, id) not valid;
-- finding 0022_foreign_key_without_tenant:public.orders.orders_customer_alone
--   The foreign key orders_customer_alone of public.orders to public.customers does not pair tenant_id with tenant_id.
-- finding 0022_foreign_key_without_tenant:public.orders.orders_customer_crossed
--   The foreign key orders_customer_crossed of public.orders to public.customers does not pair tenant_id with tenant_id.
-- fix
alter table public.orders drop constraint orders_customer_alone, drop constraint orders_customer_crossed;
