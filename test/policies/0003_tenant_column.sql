-- A tenant table made by hand lacks what tenantTable() gives.
-- fault
create table public.notes (tenant_id text, id uuid not null, unique (tenant_id, id));
alter table public.orders alter column tenant_id set default '00000000-0000-0000-0000-000000000000';
-- finding 0003_tenant_column:public.notes
--   Column tenant_id of public.notes is of type text, may be null, has no default.
-- finding 0003_tenant_column:public.orders
--   Column tenant_id of public.orders has the default '00000000-0000-0000-0000-000000000000'::uuid.
-- fix
alter table public.notes
  alter column tenant_id type uuid using tenant_id::uuid,
  alter column tenant_id set not null,
  alter column tenant_id set default rowhouse.current_tenant();
alter table public.orders alter column tenant_id set default rowhouse.current_tenant();
