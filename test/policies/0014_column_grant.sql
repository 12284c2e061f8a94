-- A grant on one column is a grant too.
-- fault
grant references (id), select (id) on public.orders to rowhouse_app;
grant update (name) on rowhouse.tenants to public;
-- finding 0014_column_grant:public.orders.id:rowhouse_app:REFERENCES, SELECT
--   rowhouse_app holds REFERENCES, SELECT on column id of public.orders.
-- finding 0014_column_grant:rowhouse.tenants.name:PUBLIC:UPDATE
--   PUBLIC holds UPDATE on column name of rowhouse.tenants.
-- fix
revoke references (id), select (id) on public.orders from rowhouse_app;
revoke update (name) on rowhouse.tenants from public;
