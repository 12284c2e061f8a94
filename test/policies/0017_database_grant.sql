-- A database that is made from a template gets the server's own grants: everybody may make temporary tables.
-- fault
reset role;
do $$ begin execute pg_catalog.format('grant temporary on database %I to public', pg_catalog.current_database()); end $$;
do $$ begin execute pg_catalog.format('grant create on database %I to rowhouse_app', pg_catalog.current_database()); end $$;
-- finding 0017_database_grant:PUBLIC:TEMPORARY
--   PUBLIC holds TEMPORARY on database {{database}}.
-- finding 0017_database_grant:rowhouse_app:CREATE
--   rowhouse_app holds CREATE on database {{database}}.
-- fix
reset role;
do $$ begin execute pg_catalog.format('revoke temporary on database %I from public', pg_catalog.current_database()); end $$;
do $$ begin execute pg_catalog.format('revoke create on database %I from rowhouse_app', pg_catalog.current_database()); end $$;
