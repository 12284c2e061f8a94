-- Run by `rowhouse migrate` as rowhouse_owner before the migrations it keeps book of.

create schema if not exists rowhouse;

create table if not exists rowhouse.migrations (
  -- Where: the shared schema, or a tenant's dedicated one by its name.
  target text not null check (target ~ '^(shared|t_[0-9a-f]{32})$'),
  -- '<source>/<file name>'. What is pending is what is on disk and not here: a set difference, never "later than the last".
  id text not null check (id ~ '^[^/]+/[^/]+\.sql$'),
  -- 'running' is a file without a transaction that is under way, or whose runner was killed.
  state text not null check (state in ('running', 'failed', 'applied')),
  -- SHA-256 (hex) of the file. While one without a transaction is under way: of the statements done so far.
  checksum text not null check (checksum ~ '^[0-9a-f]{64}$'),
  statements_done integer not null check (statements_done >= 0),
  attempts integer not null default 1 check (attempts > 0),
  -- What the last attempt failed with.
  error text check ((error is not null) = (state = 'failed')),
  started_at timestamptz not null default pg_catalog.clock_timestamp(),
  applied_at timestamptz check ((applied_at is not null) = (state = 'applied')),
  primary key (target, id)
);
