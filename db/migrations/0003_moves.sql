-- Moves of tenants from one placement to another: what was moved, and what is left of it where it came from. A row is
-- written in the transaction that moved the rows, so it is there exactly when they are.

create table rowhouse.moves (
  tenant_id uuid not null references rowhouse.tenants (id) on delete cascade,
  -- The tenant's epoch since this move.
  epoch integer not null,
  from_placement text not null check (from_placement in ('shared', 'schema', 'database')),
  to_placement text not null check (to_placement in ('shared', 'schema', 'database')),
  -- Per table: its name, its rows and their checksum, the same on both sides.
  tables jsonb not null,
  -- From when the tenant's transactions were held back, to when they could go on.
  locked_at timestamptz not null,
  moved_at timestamptz not null,
  -- The rows where they came from are kept until someone asks for their removal.
  keeps_source boolean not null,
  erased_at timestamptz,
  primary key (tenant_id, epoch)
);

alter table rowhouse.moves enable row level security;
alter table rowhouse.moves force row level security;
create policy owner_access on rowhouse.moves to rowhouse_owner using (true) with check (true);
-- NOTE: nothing is granted to rowhouse_app: moving is the operator's.
