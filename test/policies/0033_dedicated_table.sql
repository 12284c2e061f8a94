-- A hand-written migration drops what it does not know.
-- fault
create schema t_0123456789abcdef0123456789abcdef;
create table t_0123456789abcdef0123456789abcdef.orders (tenant_id uuid not null, id uuid);
create table t_0123456789abcdef0123456789abcdef.loose (a integer);
-- finding 0033_dedicated_table:t_0123456789abcdef0123456789abcdef.loose
--   The table t_0123456789abcdef0123456789abcdef.loose is in the schema of tenant 01234567-89ab-cdef-0123-456789abcdef, but it has no column tenant_id.
-- finding 0033_dedicated_table:t_0123456789abcdef0123456789abcdef.orders
--   The table t_0123456789abcdef0123456789abcdef.orders is in the schema of tenant 01234567-89ab-cdef-0123-456789abcdef, but no check holds its rows to that tenant.
-- fix
drop table t_0123456789abcdef0123456789abcdef.loose;
alter table t_0123456789abcdef0123456789abcdef.orders
  add constraint tenant_id_is_own check (tenant_id = '01234567-89ab-cdef-0123-456789abcdef');

-- A check of that name that says something else, or was never validated, proves nothing.
-- fault
alter table t_0123456789abcdef0123456789abcdef.orders drop constraint tenant_id_is_own;
alter table t_0123456789abcdef0123456789abcdef.orders
  add constraint tenant_id_is_own check (tenant_id = '01234567-89ab-cdef-0123-456789abcdef') not valid;
-- finding 0033_dedicated_table:t_0123456789abcdef0123456789abcdef.orders
--   The table t_0123456789abcdef0123456789abcdef.orders is in the schema of tenant 01234567-89ab-cdef-0123-456789abcdef, but no check holds its rows to that tenant.
-- fix
alter table t_0123456789abcdef0123456789abcdef.orders validate constraint tenant_id_is_own;
