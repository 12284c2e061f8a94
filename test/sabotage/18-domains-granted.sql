-- The application may read the domains of all customers.
-- doctor: 0007_extra_policy, 0013_table_grant
-- zero-count: rowhouse.domains
-- cross-tenant: shows another tenant's rows: rowhouse.domains
create policy tenant_access on rowhouse.domains for select to rowhouse_app using (true);
grant select on rowhouse.domains to rowhouse_app;
