-- The application owns what it uses.
-- fault
reset role;
alter table public.orders owner to rowhouse_app;
create schema scratch authorization rowhouse_app;
set local role rowhouse_app;
select pg_catalog.lo_create(4711);
-- finding 0010_role_ownership:rowhouse_app:4711
--   Role "rowhouse_app" owns the large object 4711.
-- finding 0010_role_ownership:rowhouse_app:public.orders
--   Role "rowhouse_app" owns the table public.orders.
-- finding 0010_role_ownership:rowhouse_app:scratch
--   Role "rowhouse_app" owns the schema scratch.
-- fix
reset role;
alter table public.orders owner to rowhouse_owner;
drop schema scratch;
select pg_catalog.lo_unlink(4711);
