-- Everybody may see who the other customers are.
-- doctor: 0006_template_policy
-- zero-count: rowhouse.tenants
-- cross-tenant: shows another tenant's rows: rowhouse.tenants
alter policy tenant_isolation on rowhouse.tenants using (true);
