-- A member can become the role with SET ROLE, inherited or not. The roles that serve are members of nothing.
select
  '0011_role_membership' as rule,
  'error' as level,
  null as schema,
  member.rolname::text as object,
  pg_catalog.format(
    'Role "%s" is a member of "%s"%s.', member.rolname, granted.rolname,
    -- INHERIT is the membership's own from PostgreSQL 16 on, and the member's before.
    case when coalesce((pg_catalog.to_jsonb(m) ->> 'inherit_option')::boolean, member.rolinherit)
      then ' and holds its rights without asking (INHERIT)' else '' end
  ) as detail,
  pg_catalog.format('Run `revoke %I from %I`.', granted.rolname, member.rolname) as remediation,
  pg_catalog.format('0011_role_membership:%s:%s', member.rolname, granted.rolname) as key
from pg_catalog.pg_auth_members m
join pg_catalog.pg_roles member on member.oid = m.member
join pg_catalog.pg_roles granted on granted.oid = m.roleid
where member.rolname in ('rowhouse_app', 'rowhouse_worker', 'rowhouse_queue')
