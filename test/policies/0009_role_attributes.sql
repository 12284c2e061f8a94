-- Isolation is in the way of an import, so its role is let past.
-- fault
reset role;
alter role rowhouse_app bypassrls createrole inherit;
alter role rowhouse_owner superuser;
alter role rowhouse_queue login;
-- finding 0009_role_attributes:rowhouse_app
--   Role "rowhouse_app" has BYPASSRLS, has CREATEROLE, has INHERIT.
-- finding 0009_role_attributes:rowhouse_owner
--   Role "rowhouse_owner" is a superuser.
-- finding 0009_role_attributes:rowhouse_queue
--   Role "rowhouse_queue" may log in.
-- fix
reset role;
alter role rowhouse_app nobypassrls nocreaterole noinherit;
alter role rowhouse_owner nosuperuser;
alter role rowhouse_queue nologin;
