-- "So that new tables just work."
-- fault
alter default privileges in schema public grant select on tables to rowhouse_app;
alter default privileges grant execute on functions to public;
-- finding 0018_default_privileges:rowhouse_owner::function:PUBLIC
--   PUBLIC gets EXECUTE on every function that "rowhouse_owner" creates.
-- finding 0018_default_privileges:rowhouse_owner:public:table:rowhouse_app
--   rowhouse_app gets SELECT on every table that "rowhouse_owner" creates in schema public.
-- fix
alter default privileges in schema public revoke select on tables from rowhouse_app;
alter default privileges revoke execute on functions from public;
