-- The application may switch foreign keys off.
-- doctor: 0019_other_grant
reset role;
grant set on parameter session_replication_role to rowhouse_app;
-- undo
revoke set on parameter session_replication_role from rowhouse_app;
