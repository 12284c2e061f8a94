-- Every table to come is granted from birth.
-- doctor: 0018_default_privileges
alter default privileges in schema public grant select, insert, update, delete on tables to rowhouse_app;
