create table public.notes (
  tenant_id uuid not null default rowhouse.current_tenant(),
  id uuid not null default rowhouse.uuid_v7(),
  body text not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id)
);

create table public.documents (
  tenant_id uuid not null default rowhouse.current_tenant(),
  id uuid not null default rowhouse.uuid_v7(),
  title text not null,
  attributes jsonb not null,
  tags text[] not null,
  search tsvector not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id)
);
