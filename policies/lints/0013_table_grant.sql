-- Beyond select, insert, update and delete, row-level security does not hold: TRUNCATE empties every tenant's rows,
-- REFERENCES and TRIGGER reach into them, MAINTAIN locks them. Who holds a grant option lets others in.
select
  '0013_table_grant' as rule,
  'error' as level,
  held.schema,
  held.name as object,
  pg_catalog.format('%s holds %s on %s.', held.grantee, held.with_options, held.label) as detail,
  pg_catalog.format('Run `revoke %s on %s from %s`, then `rowhouse migrate`.', held.privileges, held.label, held.grantee) as remediation,
  pg_catalog.format('0013_table_grant:%s.%s:%s:%s', held.schema, held.name, held.grantee, held.with_options) as key
from (
  select r.schema, r.name, r.label, s.name as grantee,
    pg_catalog.string_agg(a.privilege_type, ', ' order by a.privilege_type) as privileges,
    pg_catalog.string_agg(
      a.privilege_type || case when a.is_grantable then ' with grant option' else '' end, ', ' order by a.privilege_type
    ) as with_options
  from relations r
  cross join pg_catalog.aclexplode(r.acl) as a
  join serving_roles s on s.oid = a.grantee
  left join tenant_tables t on t.oid = r.oid
  left join dedicated_schemas d on d.name = r.schema
  where not (
      (s.name in ('rowhouse_app', 'rowhouse_tenant') or coalesce(s.name = d.role, false)) and not a.is_grantable and a.privilege_type = any (
        case
          -- A dedicated tenant's role has no business in the shared tables.
          when d.role is not null and s.name <> d.role then array[]::text[]
          when s.name = 'rowhouse_tenant' and r.schema not in ('rowhouse', 'global') then array[]::text[]
          when d.role is not null and r.kind <> 'S' then array['SELECT', 'INSERT', 'UPDATE', 'DELETE']
          when t.oid is not null then t.app_may
          when r.kind = 'S' then array['USAGE']
          when r.schema = 'global' then array['SELECT']
          when r.kind = 'v' then array['SELECT', 'INSERT', 'UPDATE', 'DELETE']
          else array[]::text[]
        end
      )
    )
    and t.is_partition is not true
  group by r.schema, r.name, r.label, s.name
) as held
