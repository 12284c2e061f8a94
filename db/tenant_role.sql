-- The role of one tenant with a schema of its own, made by an administrator: nobody else may make roles. {{role}} is its
-- name, which needs no quotes. Idempotent, and safe when many do it at once.

do $$
begin
  if not exists (select from pg_catalog.pg_roles r where r.rolname = '{{role}}') then
    create role {{role}} nologin inherit;
  end if;
exception
  -- Someone else made it meanwhile.
  when duplicate_object or unique_violation then null;
end
$$;

-- What every such role may in the framework's schema, it has without asking; the application has to ask (SET ROLE).
-- Memberships have options of their own from PostgreSQL 16 on; before, INHERIT is the member's.
do $$
begin
  if pg_catalog.current_setting('server_version_num')::integer >= 160000 then
    execute 'grant rowhouse_tenant to {{role}} with inherit true, set false';
    execute 'grant {{role}} to rowhouse_app with inherit false, set true';
  else
    grant rowhouse_tenant to {{role}};
    grant {{role}} to rowhouse_app;
  end if;
end
$$;
