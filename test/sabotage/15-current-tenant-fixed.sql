-- current_tenant() answers always the same, "for the demo".
-- doctor: 0031_framework_function
-- zero-count: public.customers, public.orders, public.visits, rowhouse.api_keys, rowhouse.tenants
-- cross-tenant: cannot enter a tenant: no such tenant
create or replace function rowhouse.current_tenant() returns uuid
language sql stable parallel safe
return '00000000-0000-4000-8000-00000000000a'::uuid;
