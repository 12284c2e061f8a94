-- Every session of the application begins as one tenant.
-- doctor: 0012_preset_tenant
-- zero-count: public.customers, public.orders, public.visits, rowhouse.api_keys, rowhouse.tenants
-- cross-tenant: cannot enter a tenant: a tenant is set already in this session
reset role;
alter role rowhouse_app set app.tenant_id = '00000000-0000-4000-8000-00000000000a';
-- undo
alter role rowhouse_app reset app.tenant_id;
