-- A single column of a table that is out of reach is granted.
-- doctor: 0014_column_grant
grant select (tenant_id) on rowhouse.domains to rowhouse_app;
