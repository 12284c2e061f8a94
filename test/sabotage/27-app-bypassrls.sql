-- The application walks past row-level security.
-- doctor: 0009_role_attributes
-- zero-count: public.customers, public.orders, public.visits, rowhouse.api_keys, rowhouse.tenants
-- cross-tenant: lets a row be given to another tenant: public.customers, public.orders, public.visits, rowhouse.api_keys
-- cross-tenant: lets a row be inserted for another tenant: public.customers, public.orders, public.visits, rowhouse.api_keys
-- cross-tenant: lets another tenant's rows be deleted: public.customers, public.orders, public.visits, rowhouse.api_keys
-- cross-tenant: lets another tenant's rows be updated: public.customers, public.orders, public.visits, rowhouse.api_keys
-- cross-tenant: shows another tenant's rows: public.customers, public.orders, public.visits, rowhouse.api_keys, rowhouse.tenants
-- cross-tenant: stays with its first tenant: a plan
reset role;
alter role rowhouse_app bypassrls;
-- undo
alter role rowhouse_app nobypassrls;
