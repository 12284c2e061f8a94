-- The application is given things of the server.
-- fault
reset role;
grant set on parameter session_replication_role to rowhouse_app;
grant execute on function pg_catalog.pg_read_file(text) to rowhouse_app;
grant select on pg_catalog.pg_statistic to rowhouse_worker;
create foreign data wrapper elsewhere;
create server elsewhere foreign data wrapper elsewhere;
grant usage on foreign server elsewhere to rowhouse_app;
-- finding 0019_other_grant:rowhouse_app:elsewhere
--   Role "rowhouse_app" was granted rights on the server elsewhere.
-- finding 0019_other_grant:rowhouse_app:pg_catalog.pg_read_file(pg_catalog.text)
--   Role "rowhouse_app" was granted rights on the function pg_catalog.pg_read_file(pg_catalog.text).
-- finding 0019_other_grant:rowhouse_app:session_replication_role
--   Role "rowhouse_app" was granted rights on the parameter ACL session_replication_role.
-- finding 0019_other_grant:rowhouse_worker:pg_catalog.pg_statistic
--   Role "rowhouse_worker" was granted rights on the table pg_catalog.pg_statistic.
-- fix
reset role;
revoke set on parameter session_replication_role from rowhouse_app;
revoke execute on function pg_catalog.pg_read_file(text) from rowhouse_app;
revoke select on pg_catalog.pg_statistic from rowhouse_worker;
revoke usage on foreign server elsewhere from rowhouse_app;
