-- The application is a member of the owner.
-- doctor: 0011_role_membership
-- cross-tenant: can become: the owner, the queue
reset role;
grant rowhouse_owner to rowhouse_app;
-- undo
revoke rowhouse_owner from rowhouse_app;
