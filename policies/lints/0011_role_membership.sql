-- A member can become the role with SET ROLE, inherited or not. The roles that serve are members of nothing, but for this:
-- the application may become a dedicated tenant's role, which itself has what all such roles have in common.
select
  '0011_role_membership' as rule,
  'error' as level,
  null as schema,
  member.rolname::text as object,
  pg_catalog.format(
    'Role "%s" is a member of "%s"%s.', member.rolname, granted.rolname,
    -- INHERIT is the membership's own from PostgreSQL 16 on, and the member's before.
    case when option.inherits
      then ' and holds its rights without asking (INHERIT)' else '' end
  ) as detail,
  pg_catalog.format('Run `revoke %I from %I`.', granted.rolname, member.rolname) as remediation,
  pg_catalog.format('0011_role_membership:%s:%s', member.rolname, granted.rolname) as key
from pg_catalog.pg_auth_members m
join pg_catalog.pg_roles member on member.oid = m.member
join pg_catalog.pg_roles granted on granted.oid = m.roleid
cross join lateral (
  select coalesce((pg_catalog.to_jsonb(m) ->> 'inherit_option')::boolean, member.rolinherit) as inherits
) as option
where (
    member.rolname in ('rowhouse_app', 'rowhouse_worker', 'rowhouse_queue', 'rowhouse_tenant')
    or exists (select from dedicated_roles d where d.oid = member.oid)
  )
  and not (granted.rolname = 'rowhouse_tenant' and exists (select from dedicated_roles d where d.oid = member.oid))
  and not (
    member.rolname = 'rowhouse_app' and not option.inherits
    and exists (select from dedicated_roles d where d.oid = granted.oid)
  )
