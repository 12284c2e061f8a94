-- The wall of a table in a tenant's own schema, rendered for each by `rowhouse migrate`: {{table}} is its qualified, quoted
-- name, {{tenant}} the tenant's id, {{role}} its role. There is no row-level security, so that every index can be used:
-- no other role reaches the schema, and a row of another tenant cannot be in it.

alter table {{table}} disable row level security;
alter table {{table}} no force row level security;

alter table {{table}} drop constraint if exists tenant_id_is_own;
alter table {{table}} add constraint tenant_id_is_own check (tenant_id = '{{tenant}}');

revoke all on {{table}} from public, rowhouse_app, rowhouse_worker, rowhouse_tenant, {{role}};
grant select, insert, update, delete on {{table}} to {{role}};
