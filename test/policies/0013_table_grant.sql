-- A test wants to empty a table, and another to look at it as anybody.
-- fault
grant truncate, references, trigger on public.orders to rowhouse_app;
grant select on public.customers to public;
grant select on public.customers to rowhouse_app with grant option;
grant insert on rowhouse.tenants to rowhouse_app;
grant select on rowhouse.migrations to rowhouse_app;
grant insert on global.plans to rowhouse_app;
grant select on public.orders to rowhouse_worker;
create sequence public.order_number;
grant usage, select on sequence public.order_number to rowhouse_app;
-- finding 0013_table_grant:global.plans:rowhouse_app:INSERT
--   rowhouse_app holds INSERT on global.plans.
-- finding 0013_table_grant:public.customers:PUBLIC:SELECT
--   PUBLIC holds SELECT on public.customers.
-- finding 0013_table_grant:public.customers:rowhouse_app:SELECT with grant option
--   rowhouse_app holds SELECT with grant option on public.customers.
-- finding 0013_table_grant:public.order_number:rowhouse_app:SELECT
--   rowhouse_app holds SELECT on public.order_number.
-- finding 0013_table_grant:public.orders:rowhouse_app:REFERENCES, TRIGGER, TRUNCATE
--   rowhouse_app holds REFERENCES, TRIGGER, TRUNCATE on public.orders.
-- finding 0013_table_grant:public.orders:rowhouse_worker:SELECT
--   rowhouse_worker holds SELECT on public.orders.
-- finding 0013_table_grant:rowhouse.migrations:rowhouse_app:SELECT
--   rowhouse_app holds SELECT on rowhouse.migrations.
-- finding 0013_table_grant:rowhouse.tenants:rowhouse_app:INSERT
--   rowhouse_app holds INSERT on rowhouse.tenants.
-- fix
revoke truncate, references, trigger on public.orders from rowhouse_app;
revoke select on public.customers from public;
revoke grant option for select on public.customers from rowhouse_app;
revoke insert on rowhouse.tenants from rowhouse_app;
revoke select on rowhouse.migrations from rowhouse_app;
revoke insert on global.plans from rowhouse_app;
revoke select on public.orders from rowhouse_worker;
revoke select on sequence public.order_number from rowhouse_app;
