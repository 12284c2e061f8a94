-- A migration creates a table with neither a tenant nor a place among the global ones.
-- fault
create table public.notes (id uuid primary key);
-- finding 0001_unclassified_table:public.notes
--   The table public.notes is neither a tenant table nor a global one: it has no column tenant_id and is not in schema global.
-- fix
drop table public.notes;
create table global.notes (id uuid primary key);

-- A tenant's table stands where nobody secures it.
-- fault
create schema archive;
create table archive.orders (tenant_id uuid not null, id uuid not null, primary key (tenant_id, id));
create table global.orders (tenant_id uuid not null, id uuid not null, primary key (tenant_id, id));
-- finding 0001_unclassified_table:archive.orders
--   The table archive.orders is neither a tenant table nor a global one: it has a column tenant_id, but its schema is not one of those that hold tenant tables.
-- finding 0001_unclassified_table:global.orders
--   The table global.orders is neither a tenant table nor a global one: it is in schema global and has a column tenant_id.
-- fix
drop schema archive cascade;
drop table global.orders;

-- What cannot carry row-level security.
-- fault
create materialized view public.plan_names as select p.name from global.plans p;
reset role;
create foreign data wrapper elsewhere;
create server elsewhere foreign data wrapper elsewhere;
grant usage on foreign server elsewhere to rowhouse_owner;
set local role rowhouse_owner;
create foreign table public.remote_orders (tenant_id uuid) server elsewhere;
create table public.logs (tenant_id uuid not null, at date not null) partition by range (at);
create foreign table public.logs_old partition of public.logs for values from ('1999-01-01') to ('2000-01-01') server elsewhere;
-- finding 0001_unclassified_table:public.logs_old
--   The foreign table public.logs_old is neither a tenant table nor a global one: a foreign table cannot carry row-level security.
-- finding 0001_unclassified_table:public.plan_names
--   The materialized view public.plan_names is neither a tenant table nor a global one: a materialized view cannot carry row-level security, and it is not in schema global.
-- finding 0001_unclassified_table:public.remote_orders
--   The foreign table public.remote_orders is neither a tenant table nor a global one: a foreign table cannot carry row-level security.
-- fix
drop materialized view public.plan_names;
create materialized view global.plan_names as select p.name from global.plans p;
drop foreign table public.remote_orders, public.logs_old;
