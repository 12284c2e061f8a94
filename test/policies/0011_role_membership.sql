-- The application is to run migrations, so it is made a member of the owner.
-- fault
reset role;
grant rowhouse_owner to rowhouse_app;
grant pg_read_all_data to rowhouse_worker;
-- finding 0011_role_membership:rowhouse_app:rowhouse_owner
--   Role "rowhouse_app" is a member of "rowhouse_owner".
-- finding 0011_role_membership:rowhouse_worker:pg_read_all_data
--   Role "rowhouse_worker" is a member of "pg_read_all_data".
-- fix
reset role;
revoke rowhouse_owner from rowhouse_app;
revoke pg_read_all_data from rowhouse_worker;

-- Whoever inherits need not even ask.
-- fault
reset role;
alter role rowhouse_app inherit;
grant rowhouse_owner to rowhouse_app;
-- finding 0011_role_membership:rowhouse_app:rowhouse_owner
--   Role "rowhouse_app" is a member of "rowhouse_owner" and holds its rights without asking (INHERIT).
-- fix
reset role;
alter role rowhouse_app noinherit;
revoke rowhouse_owner from rowhouse_app;
