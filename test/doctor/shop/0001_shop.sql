-- A small application that does everything right: what the doctor and the sabotages are tried on.

create table public.customers (
  tenant_id uuid not null default rowhouse.current_tenant(),
  id uuid not null default rowhouse.uuid_v7(),
  email text not null,
  primary key (tenant_id, id),
  constraint customers_email_key unique (tenant_id, email)
);

create table public.orders (
  tenant_id uuid not null default rowhouse.current_tenant(),
  id uuid not null default rowhouse.uuid_v7(),
  customer_id uuid not null,
  total_cents integer not null default 0,
  primary key (tenant_id, id),
  constraint orders_customer_id_fkey foreign key (tenant_id, customer_id)
    references public.customers (tenant_id, id) on delete cascade
);

create table public.visits (
  tenant_id uuid not null default rowhouse.current_tenant(),
  id uuid not null default rowhouse.uuid_v7(),
  seen_at timestamptz not null default pg_catalog.now(),
  primary key (tenant_id, id, seen_at)
) partition by range (seen_at);

create table public.visits_rest partition of public.visits default;

create table global.plans (
  code text primary key,
  name text not null
);
grant select on global.plans to rowhouse_app;

create view public.large_orders with (security_invoker = true) as
  select o.id, o.total_cents from public.orders o where o.total_cents > 100000;
grant select on public.large_orders to rowhouse_app;

create function public.order_total(customer uuid) returns bigint
language sql stable security invoker set search_path = ''
return (select pg_catalog.sum(o.total_cents) from public.orders o where o.customer_id = order_total.customer);
grant execute on function public.order_total(uuid) to rowhouse_app;
