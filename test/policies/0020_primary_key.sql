-- Keys as they are written everywhere else.
-- fault
create table public.notes (tenant_id uuid not null default rowhouse.current_tenant(), id uuid primary key);
create table public.tags (tenant_id uuid not null default rowhouse.current_tenant(), name text not null);
-- finding 0020_primary_key:public.notes
--   The primary key of public.notes does not begin with tenant_id.
-- finding 0020_primary_key:public.tags
--   The tenant table public.tags has no primary key.
-- fix
alter table public.notes drop constraint notes_pkey, add primary key (tenant_id, id);
alter table public.tags add primary key (tenant_id, name);
