-- What db/roles.sql should have done and has not: GRANT and REVOKE by someone who may not give the right only warn.
-- Rights are looked for in the lists themselves: what a role may through PUBLIC is taken away with PUBLIC's.
-- One row a problem: what is wrong, and the statement that a role with the right to it has to run.
with this as (
  select d.datname, pg_catalog.format('database %I', d.datname) as label,
    pg_catalog.pg_get_userbyid(d.datdba) as owner,
    coalesce(d.datacl, pg_catalog.acldefault('d', d.datdba)) as acl
  from pg_catalog.pg_database d
  where d.datname = pg_catalog.current_database()
),
public_schema as (
  -- pg_database_owner is no one to log in as: whoever owns the database is a member of it.
  select coalesce(nullif(pg_catalog.pg_get_userbyid(n.nspowner), 'pg_database_owner'), this.owner) as owner,
    coalesce(n.nspacl, pg_catalog.acldefault('n', n.nspowner)) as acl
  from this, pg_catalog.pg_namespace n
  where n.nspname = 'public'
),
wanted_database as (
  select * from (values
    ('rowhouse_owner', array['CONNECT', 'CREATE']), ('rowhouse_app', array['CONNECT']),
    ('rowhouse_worker', array['CONNECT'])
  ) as w (role_name, rights)
),
wanted_schema as (
  select * from (values ('rowhouse_owner', array['USAGE', 'CREATE']), ('rowhouse_app', array['USAGE']))
    as w (role_name, rights)
)
select pg_catalog.format('%s may not %s on %s', role_name, r, label) as problem,
  pg_catalog.format('grant %s on %s to %I', pg_catalog.lower(r), label, role_name) as remedy,
  owner
from this, wanted_database, pg_catalog.unnest(rights) as r
where not exists (
  select from pg_catalog.aclexplode(this.acl) a
  where a.grantee = pg_catalog.to_regrole(role_name) and a.privilege_type = r
)

union all
select pg_catalog.format('%s has %s on %s', coalesce(g.rolname, 'PUBLIC'), a.privilege_type, label),
  pg_catalog.format('revoke %s on %s from %s', pg_catalog.lower(a.privilege_type), label,
    coalesce(pg_catalog.quote_ident(g.rolname), 'public')),
  owner
from this, pg_catalog.aclexplode(this.acl) as a
left join pg_catalog.pg_roles g on g.oid = a.grantee
where a.grantee = 0
  or (g.rolname in ('rowhouse_app', 'rowhouse_worker') and a.privilege_type <> 'CONNECT')
  or g.rolname in ('rowhouse_queue', 'rowhouse_tenant')

union all
select pg_catalog.format('%s may not %s on schema public', role_name, r),
  pg_catalog.format('grant %s on schema public to %I', pg_catalog.lower(r), role_name), owner
from public_schema, wanted_schema, pg_catalog.unnest(rights) as r
where not exists (
  select from pg_catalog.aclexplode(public_schema.acl) a
  where a.grantee = pg_catalog.to_regrole(role_name) and a.privilege_type = r
)

union all
select pg_catalog.format('%s has %s on schema public', coalesce(g.rolname, 'PUBLIC'), a.privilege_type),
  pg_catalog.format('revoke %s on schema public from %s', pg_catalog.lower(a.privilege_type),
    coalesce(pg_catalog.quote_ident(g.rolname), 'public')),
  owner
from public_schema, pg_catalog.aclexplode(public_schema.acl) as a
left join pg_catalog.pg_roles g on g.oid = a.grantee
where a.grantee = 0 or (g.rolname = 'rowhouse_app' and a.privilege_type <> 'USAGE')

union all
select 'the database has no schema "public"', 'create schema public', owner
from this
where not exists (select from public_schema)

union all
select 'rowhouse_owner may not become rowhouse_queue', 'grant rowhouse_queue to rowhouse_owner',
  'a role with ADMIN OPTION on rowhouse_queue'
where not exists (
  select from pg_catalog.pg_auth_members m
  where m.roleid = 'rowhouse_queue'::regrole and m.member = 'rowhouse_owner'::regrole
    -- set_option and inherit_option are columns only from PostgreSQL 16 on, hence by way of JSON.
    and coalesce((pg_catalog.to_jsonb(m) ->> 'set_option')::boolean, true)
)

union all
select 'rowhouse_owner inherits what rowhouse_queue may',
  pg_catalog.format('grant rowhouse_queue to rowhouse_owner with inherit false granted by %I',
    pg_catalog.pg_get_userbyid(m.grantor)),
  pg_catalog.pg_get_userbyid(m.grantor)
from pg_catalog.pg_auth_members m
where m.roleid = 'rowhouse_queue'::regrole and m.member = 'rowhouse_owner'::regrole
  and (pg_catalog.to_jsonb(m) ->> 'inherit_option')::boolean
order by 1;
