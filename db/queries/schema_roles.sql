-- For scripts/dump-schema.ts: the roles, what they are members of, and their settings in this database.
select pg_catalog.concat(
    'role ', r.rolname,
    case when r.rolcanlogin then ' login' else ' nologin' end,
    case when r.rolinherit then ' inherit' else ' noinherit' end,
    case when r.rolsuper then ' superuser' end,
    case when r.rolbypassrls then ' bypassrls' end,
    case when r.rolcreaterole then ' createrole' end,
    case when r.rolcreatedb then ' createdb' end,
    case when r.rolreplication then ' replication' end,
    ';', memberships.list, settings.list
  ) as ddl
from pg_catalog.pg_roles r
cross join lateral (
  -- INHERIT of a single membership exists from PostgreSQL 16 on; before, the role's own attribute decides.
  select pg_catalog.string_agg(pg_catalog.format(E'\ngrant %s to %s;', g.rolname, r.rolname) ||
      case when (pg_catalog.to_jsonb(m) ->> 'inherit_option')::boolean then ' -- with inherit' else '' end,
    '' order by g.rolname) as list
  from pg_catalog.pg_auth_members m
  join pg_catalog.pg_roles g on g.oid = m.roleid
  where m.member = r.oid
) as memberships
cross join lateral (
  select pg_catalog.string_agg(pg_catalog.format(E'\nalter role %s in database … set %s;', r.rolname, c.setting),
    '' order by c.setting) as list
  from pg_catalog.pg_db_role_setting s
  cross join lateral pg_catalog.unnest(s.setconfig) as c (setting)
  where s.setrole = r.oid
    and s.setdatabase = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
) as settings
where r.rolname in ('rowhouse_owner', 'rowhouse_app', 'rowhouse_worker', 'rowhouse_queue', 'rowhouse_tenant')
order by r.rolname;
