create table public.notes (
  tenant_id uuid not null default rowhouse.current_tenant(),
  id uuid not null default rowhouse.uuid_v7(),
  body text not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id)
);

create schema plain;
create table plain.notes (like public.notes including all);

create schema tutorial;
create table tutorial.notes (like public.notes including all);
alter table tutorial.notes enable row level security;
create policy tenant on tutorial.notes using (tenant_id = current_setting('app.tenant_id')::uuid);
grant usage on schema tutorial to rowhouse_app;
grant select, insert on tutorial.notes to rowhouse_app;
