-- A new table has no tenant at all, and is granted by hand.
-- doctor: 0001_unclassified_table, 0013_table_grant
create table public.settings (name text primary key, value text not null);
grant select, insert, update, delete on public.settings to rowhouse_app;
