-- The application is a superuser, as on many a laptop.
-- doctor: 0009_role_attributes
-- zero-count: public.customers, public.orders, public.visits, public.visits_rest, rowhouse.api_keys, rowhouse.domains, rowhouse.job_history_rest, rowhouse.moves, rowhouse.tenants
-- cross-tenant: can be truncated: public.customers, public.orders, public.visits, rowhouse.api_keys
-- cross-tenant: can become: the owner, the queue, the worker
-- cross-tenant: can make: temporary tables
-- cross-tenant: lets a row be given to another tenant: public.customers, public.orders, public.visits, rowhouse.api_keys
-- cross-tenant: lets a row be inserted for another tenant: public.customers, public.orders, public.visits, rowhouse.api_keys
-- cross-tenant: lets another tenant's rows be deleted: public.customers, public.orders, public.visits, rowhouse.api_keys
-- cross-tenant: lets another tenant's rows be updated: public.customers, public.orders, public.visits, rowhouse.api_keys
-- cross-tenant: shows another tenant's rows: public.customers, public.orders, public.visits, public.visits_rest, rowhouse.api_keys, rowhouse.domains, rowhouse.tenants
-- cross-tenant: stays with its first tenant: a plan
reset role;
alter role rowhouse_app superuser;
-- undo
alter role rowhouse_app nosuperuser;
