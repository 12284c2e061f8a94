-- A new table is granted by hand, without the wall.
-- doctor: 0004_rls_disabled, 0005_rls_not_forced, 0006_template_policy
-- zero-count: public.notes
-- cross-tenant: shows another tenant's rows: public.notes
create table public.notes (
  tenant_id uuid not null default rowhouse.current_tenant(),
  id uuid not null default rowhouse.uuid_v7(),
  primary key (tenant_id, id)
);
grant select, insert, update, delete on public.notes to rowhouse_app;
insert into public.notes (tenant_id) select t.id from rowhouse.tenants t;
