-- Why the role of this connection must not serve requests: one row a reason, none when it is safe.
-- Run at start-up as the application, and again by the doctor for the role it is given.
with reach as (
  -- The role itself and everything it is a member of, by whatever path: NOINHERIT does not stop SET ROLE.
  select r.oid, r.rolname, r.rolname = current_user as is_self, r.rolsuper, r.rolbypassrls, r.rolcreaterole,
    r.rolcreatedb, r.rolreplication
  from pg_catalog.pg_roles r
  where pg_catalog.pg_has_role(current_user, r.oid, 'member')
)
select case when is_self then 'it ' else 'it is a member of "' || rolname || '", which ' end || reason as reason
from reach
cross join lateral (
  values
    (rolsuper, 'is a superuser'),
    (rolbypassrls, 'has BYPASSRLS'),
    (rolcreaterole, 'has CREATEROLE'),
    (rolcreatedb, 'has CREATEDB'),
    (rolreplication, 'has REPLICATION'),
    (rolname like 'pg\_%', 'is a predefined role of the server'),
    (
      exists (
        select from pg_catalog.pg_class c
        join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where c.relowner = reach.oid and c.relkind in ('r', 'p', 'v', 'm', 'f')
          and n.nspname not like 'pg\_%' and n.nspname <> 'information_schema'
      ),
      'owns tables'
    ),
    (
      exists (select from pg_catalog.pg_namespace n where n.nspowner = reach.oid and n.nspname not like 'pg\_%'),
      'owns a schema'
    ),
    (
      exists (
        select from pg_catalog.pg_database d
        where d.datname = pg_catalog.current_database() and d.datdba = reach.oid
      ),
      'owns the database'
    )
) as rule (holds, reason)
where holds
order by 1;
