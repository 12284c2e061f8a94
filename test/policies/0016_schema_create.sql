-- Before PostgreSQL 15 everybody could create in schema public, and a restored dump brings that back.
-- fault
reset role;
grant create on schema public to public;
grant create on schema extensions to rowhouse_app;
-- finding 0016_schema_create:extensions:rowhouse_app
--   rowhouse_app may create objects in schema extensions.
-- finding 0016_schema_create:public:PUBLIC
--   PUBLIC may create objects in schema public.
-- fix
reset role;
revoke create on schema public from public;
revoke create on schema extensions from rowhouse_app;
