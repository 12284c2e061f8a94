-- Run by `rowhouse init-database` in the application's database, as an administrator with CREATEROLE who owns the
-- database (nobody needs to be superuser). Idempotent: what is right already is not written again, so that many may run
-- it at once and an administrator who did not create the roles can run it too.
-- Role names carry a prefix: roles belong to the whole server. Passwords are set apart: they do not belong in a file.

do $$
declare
  wanted record;
begin
  for wanted in
    select * from (values
      ('rowhouse_owner', true), ('rowhouse_app', true), ('rowhouse_worker', true), ('rowhouse_queue', false),
      -- Every role of a dedicated tenant is a member: what they all may in the framework's schema is granted to it.
      ('rowhouse_tenant', false)
    ) as w (name, login)
  loop
    if not exists (select from pg_catalog.pg_roles r where r.rolname = wanted.name) then
      execute pg_catalog.format('create role %I', wanted.name);
    end if;
    if not exists (
      select from pg_catalog.pg_roles r
      where r.rolname = wanted.name and r.rolcanlogin = wanted.login and not r.rolinherit
    ) then
      -- noinherit: a membership gives nothing until SET ROLE asks for it.
      execute pg_catalog.format(
        'alter role %I noinherit %s', wanted.name, case when wanted.login then 'login' else 'nologin' end);
    end if;
  end loop;
end
$$;

-- The owner makes functions that belong to rowhouse_queue, for which it must be able to become it. INHERIT FALSE: until
-- it does, it has none of the rights. Before PostgreSQL 16 that is the NOINHERIT above.
do $$
begin
  if exists (
    select from pg_catalog.pg_auth_members m
    where m.roleid = 'rowhouse_queue'::regrole and m.member = 'rowhouse_owner'::regrole
      -- Columns only from 16 on, hence by way of JSON.
      and coalesce((pg_catalog.to_jsonb(m) ->> 'set_option')::boolean, true)
      and not coalesce((pg_catalog.to_jsonb(m) ->> 'inherit_option')::boolean, false)
  ) then
    null;
  elsif pg_catalog.current_setting('server_version_num')::integer >= 160000 then
    execute 'grant rowhouse_queue to rowhouse_owner with inherit false, set true';
  else
    grant rowhouse_queue to rowhouse_owner;
  end if;
end
$$;

-- Nobody gets anything on this database by merely being on the server. TEMPORARY goes too: a temporary table outlives
-- the transaction, and with it the tenant.
do $$
begin
  execute pg_catalog.format('revoke all on database %I from public', pg_catalog.current_database());
  execute pg_catalog.format(
    'revoke all on database %I from rowhouse_app, rowhouse_worker, rowhouse_queue, rowhouse_tenant', pg_catalog.current_database());
  execute pg_catalog.format('grant connect, create on database %I to rowhouse_owner', pg_catalog.current_database());
  execute pg_catalog.format(
    'grant connect on database %I to rowhouse_app, rowhouse_worker', pg_catalog.current_database());
end
$$;

revoke all on schema public from public;
grant usage, create on schema public to rowhouse_owner;
grant usage on schema public to rowhouse_app;

-- Settings of the role in this database rather than of the connection: a pooler in front keeps them. A time that an
-- operator has set stays. pg_temp stands last in the search_path, or a temporary table could shadow a tenant's.
do $$
declare
  setting record;
begin
  for setting in
    select * from (values
      ('rowhouse_owner', 'search_path', 'public, extensions, pg_temp', true),
      ('rowhouse_app', 'search_path', 'public, extensions, pg_temp', true),
      ('rowhouse_app', 'statement_timeout', '30s', false),
      ('rowhouse_app', 'lock_timeout', '5s', false),
      ('rowhouse_app', 'idle_in_transaction_session_timeout', '30s', false),
      ('rowhouse_worker', 'search_path', 'pg_temp', true),
      ('rowhouse_worker', 'statement_timeout', '30s', false),
      ('rowhouse_worker', 'lock_timeout', '5s', false),
      ('rowhouse_worker', 'idle_in_transaction_session_timeout', '30s', false)
    ) as s (role_name, name, value, is_exact)
  loop
    if not exists (
      select from pg_catalog.pg_db_role_setting s, pg_catalog.unnest(s.setconfig) as config
      where s.setdatabase = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
        and s.setrole = pg_catalog.to_regrole(setting.role_name)
        and pg_catalog.split_part(config, '=', 1) = setting.name
        and (not setting.is_exact or config = setting.name || '=' || setting.value)
    ) then
      -- Not quoted: the value of search_path is a list. They are the literals above.
      execute pg_catalog.format(
        'alter role %I in database %I set %s = %s',
        setting.role_name, pg_catalog.current_database(), setting.name,
        case when setting.is_exact then setting.value else pg_catalog.quote_literal(setting.value) end);
    end if;
  end loop;
end
$$;
