-- Run by `rowhouse init-database` in the application's database, as an administrator with CREATEROLE who owns the
-- database (nobody needs to be superuser). Idempotent. Role names carry a prefix: roles belong to the whole server.
-- Passwords are set apart, since they do not belong in a file.

do $$
declare
  role_name text;
begin
  foreach role_name in array array['rowhouse_owner', 'rowhouse_app', 'rowhouse_worker', 'rowhouse_queue'] loop
    if not exists (select from pg_catalog.pg_roles r where r.rolname = role_name) then
      -- noinherit: a membership gives nothing until SET ROLE asks for it.
      execute pg_catalog.format('create role %I noinherit', role_name);
    end if;
  end loop;
end
$$;

alter role rowhouse_owner login noinherit;
alter role rowhouse_app login noinherit;
alter role rowhouse_worker login noinherit;
alter role rowhouse_queue nologin noinherit;

-- Nobody gets anything on this database by merely being on the server. TEMPORARY goes too: a temporary table outlives
-- the transaction, and with it the tenant.
do $$
begin
  execute pg_catalog.format('revoke all on database %I from public', pg_catalog.current_database());
  execute pg_catalog.format(
    'revoke all on database %I from rowhouse_app, rowhouse_worker, rowhouse_queue', pg_catalog.current_database());
  execute pg_catalog.format('grant connect, create on database %I to rowhouse_owner', pg_catalog.current_database());
  execute pg_catalog.format(
    'grant connect on database %I to rowhouse_app, rowhouse_worker', pg_catalog.current_database());
end
$$;

revoke all on schema public from public;
grant usage, create on schema public to rowhouse_owner;
grant usage on schema public to rowhouse_app;

-- Settings of the role in this database rather than of the connection: a pooler in front keeps them.
-- pg_temp stands last, or a temporary table could shadow a tenant's.
do $$
declare
  setting text;
begin
  foreach setting in array array[
    'alter role rowhouse_app in database %I set search_path = public, extensions, pg_temp',
    'alter role rowhouse_app in database %I set statement_timeout = ''30s''',
    'alter role rowhouse_app in database %I set lock_timeout = ''5s''',
    'alter role rowhouse_app in database %I set idle_in_transaction_session_timeout = ''30s''',
    'alter role rowhouse_worker in database %I set search_path = pg_temp',
    'alter role rowhouse_worker in database %I set statement_timeout = ''30s''',
    'alter role rowhouse_worker in database %I set lock_timeout = ''5s''',
    'alter role rowhouse_worker in database %I set idle_in_transaction_session_timeout = ''30s''',
    'alter role rowhouse_owner in database %I set search_path = public, extensions, pg_temp'
  ] loop
    execute pg_catalog.format(setting, pg_catalog.current_database());
  end loop;
end
$$;
