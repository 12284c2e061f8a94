-- Provisioning was killed half-way.
-- fault
create schema t_0123456789abcdef0123456789abcdef;
-- finding 0035_orphaned_schema:t_0123456789abcdef0123456789abcdef
--   The schema t_0123456789abcdef0123456789abcdef belongs to tenant 01234567-89ab-cdef-0123-456789abcdef, which does not exist.
-- fix
insert into rowhouse.tenants (id, slug, name, placement)
values ('01234567-89ab-cdef-0123-456789abcdef', 'late', 'Late', 'schema');

-- The tenant was sent back to the shared tables by hand.
-- fault
update rowhouse.tenants set placement = 'shared' where slug = 'late';
-- finding 0035_orphaned_schema:t_0123456789abcdef0123456789abcdef
--   Tenant 01234567-89ab-cdef-0123-456789abcdef has the placement "shared", but there is a schema t_0123456789abcdef0123456789abcdef for it.
-- fix
drop schema t_0123456789abcdef0123456789abcdef;
