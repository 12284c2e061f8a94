-- With default privileges a new object is reachable before anybody has decided that it should be.
select
  '0018_default_privileges' as rule,
  'error' as level,
  n.nspname::text as schema,
  creator.rolname::text as object,
  pg_catalog.format(
    '%s gets %s on every %s that "%s" creates%s.', s.name, privileges, d.what, creator.rolname, ' in schema ' || n.nspname
  ) as detail,
  'Take it back with `alter default privileges … revoke …`: `rowhouse migrate` grants, table by table.' as remediation,
  pg_catalog.format('0018_default_privileges:%s:%s:%s:%s', creator.rolname, n.nspname, d.what, s.name) as key
from (
  select defaclrole as creator, defaclnamespace as schema, defaclacl as acl,
    case defaclobjtype
      when 'r' then 'table' when 'S' then 'sequence' when 'f' then 'function' when 'T' then 'type' when 'n' then 'schema'
      else 'large object'
    end as what
  from pg_catalog.pg_default_acl
  union all
  -- The server's own default: everybody may execute. The owner's functions are not to be so.
  select r.oid, 0, pg_catalog.acldefault('f', r.oid), 'function'
  from pg_catalog.pg_roles r
  where r.rolname = 'rowhouse_owner'
    and not exists (
      select from pg_catalog.pg_default_acl a
      where a.defaclrole = r.oid and a.defaclnamespace = 0 and a.defaclobjtype = 'f'
    )
) as d
join pg_catalog.pg_roles creator on creator.oid = d.creator
left join pg_catalog.pg_namespace n on n.oid = d.schema
cross join serving_roles s
cross join lateral (
  select pg_catalog.string_agg(a.privilege_type, ', ' order by a.privilege_type)
  from pg_catalog.aclexplode(d.acl) as a
  where a.grantee = s.oid
) as held (privileges)
where privileges is not null
  -- An entry for all schemas repeats what the server grants to PUBLIC by itself, whatever it was made for.
  and not (
    d.schema = 0 and s.name = 'PUBLIC' and (d.what = 'type' or (d.what = 'function' and creator.rolname <> 'rowhouse_owner'))
  )
