-- current_tenant() is IMMUTABLE: a plan keeps its first tenant.
-- doctor: 0029_immutable_setting, 0031_framework_function
-- cross-tenant: cannot enter a tenant: no such tenant
alter function rowhouse.current_tenant() immutable;
