-- Roles of ours that exist already and could walk past row-level security: one row a reason. Asked before db/roles.sql
-- takes a role over, and again after it.
with ours as (
  select r.oid, r.rolname
  from pg_catalog.pg_roles r
  where r.rolname in ('rowhouse_owner', 'rowhouse_app', 'rowhouse_worker', 'rowhouse_queue', 'rowhouse_tenant')
),
reach as (
  -- The role itself and whatever it is a member of, by any path. A superuser is a member of everything, so it is only
  -- itself here.
  select o.rolname as role, r.*, r.oid = o.oid as is_self
  from ours o
  join pg_catalog.pg_roles self on self.oid = o.oid
  join pg_catalog.pg_roles r on r.oid = o.oid or (not self.rolsuper and pg_catalog.pg_has_role(o.oid, r.oid, 'member'))
)
select role, case when is_self then '' else 'is a member of "' || rolname || '", which ' end || reason as reason
from reach
cross join lateral (
  values
    (rolsuper, 'is a superuser'),
    (rolbypassrls, 'has BYPASSRLS'),
    (rolcreaterole, 'has CREATEROLE'),
    (rolcreatedb, 'has CREATEDB'),
    (rolreplication, 'has REPLICATION'),
    (
      -- pg_database_owner stands for whoever owns the database, which the owner role may.
      rolname ~ '^pg_(read|write|execute)_' or rolname = 'pg_maintain'
        or (rolname = 'pg_database_owner' and role <> 'rowhouse_owner'),
      'is a predefined role of the server'
    ),
    (rolname = 'rowhouse_owner' and not is_self, 'owns the tables'),
    (rolname = 'rowhouse_queue' and not is_self and role <> 'rowhouse_owner', 'owns the queue''s functions')
) as rule (holds, reason)
where holds
order by 1, 2;
