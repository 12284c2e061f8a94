-- A report is to read one customer's tables, and the schema is opened to the application.
-- fault
reset role;
create role rowhouse_t_0123456789abcdef0123456789abcdef nologin;
set local role rowhouse_owner;
create schema t_0123456789abcdef0123456789abcdef;
grant usage on schema t_0123456789abcdef0123456789abcdef to rowhouse_app, rowhouse_t_0123456789abcdef0123456789abcdef;
-- finding 0034_dedicated_schema:t_0123456789abcdef0123456789abcdef:rowhouse_app
--   The schema t_0123456789abcdef0123456789abcdef can be used by rowhouse_app.
-- fix
revoke usage on schema t_0123456789abcdef0123456789abcdef from rowhouse_app;

-- Its role is gone, and someone else has made it his own.
-- fault
reset role;
drop owned by rowhouse_t_0123456789abcdef0123456789abcdef;
drop role rowhouse_t_0123456789abcdef0123456789abcdef;
alter schema t_0123456789abcdef0123456789abcdef owner to rowhouse_queue;
-- finding 0034_dedicated_schema:t_0123456789abcdef0123456789abcdef:owner
--   The schema t_0123456789abcdef0123456789abcdef belongs to rowhouse_queue.
-- finding 0034_dedicated_schema:t_0123456789abcdef0123456789abcdef:role
--   The schema t_0123456789abcdef0123456789abcdef has no role rowhouse_t_0123456789abcdef0123456789abcdef.
-- fix
reset role;
create role rowhouse_t_0123456789abcdef0123456789abcdef nologin;
alter schema t_0123456789abcdef0123456789abcdef owner to rowhouse_owner;
