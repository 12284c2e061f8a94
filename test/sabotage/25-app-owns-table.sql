-- The application owns a table.
-- doctor: 0002_foreign_owner, 0010_role_ownership, 0013_table_grant
-- zero-count: public.visits
-- cross-tenant: can be truncated: public.visits
reset role;
alter table public.visits owner to rowhouse_app;
