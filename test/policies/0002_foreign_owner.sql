-- Somebody creates a table by hand, as an administrator.
-- fault
reset role;
create table public.notes (tenant_id uuid not null, id uuid not null, primary key (tenant_id, id));
create role rowhouse_someone;
alter table public.notes owner to rowhouse_someone;
create function public.f() returns integer language sql return 1;
alter function public.f() owner to rowhouse_app;
-- finding 0002_foreign_owner:public.f()
--   The function public.f() is owned by "rowhouse_app", not by "rowhouse_owner".
-- finding 0002_foreign_owner:public.notes
--   The table public.notes is owned by "rowhouse_someone", not by "rowhouse_owner".
-- fix
reset role;
alter table public.notes owner to rowhouse_owner;
alter function public.f() owner to rowhouse_owner;
