-- Run by `rowhouse migrate` as rowhouse_owner before the migrations it keeps book of.

create schema if not exists rowhouse;

create table if not exists rowhouse.migrations (
  -- '<source>/<file name>'. What is pending is what is on disk and not here: a set difference, never "later than the last".
  id text primary key check (id ~ '^[^/]+/[^/]+\.sql$'),
  -- SHA-256 (hex) of the file. While one without a transaction is under way: of the statements done so far.
  checksum text not null check (checksum ~ '^[0-9a-f]{64}$'),
  statements_done integer not null check (statements_done >= 0),
  started_at timestamptz not null default pg_catalog.clock_timestamp(),
  -- null while a file without a transaction is under way.
  applied_at timestamptz
);
