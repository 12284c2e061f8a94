-- enter() sets the tenant without looking whether there is one.
-- doctor: 0031_framework_function
-- cross-tenant: can enter: a tenant that does not exist
create or replace function rowhouse.enter(tenant uuid, epoch integer) returns void
language plpgsql volatile
as $$ begin perform pg_catalog.set_config('app.tenant_id', tenant::text, true); end $$;
