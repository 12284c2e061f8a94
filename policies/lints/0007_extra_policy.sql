-- A further permissive policy can only open a table to someone: permissive policies are joined with OR.
select
  '0007_extra_policy' as rule,
  'error' as level,
  t.schema,
  t.name as object,
  pg_catalog.format(
    'Policy %I on %s is permissive and not the template''s; it admits %s to rows USING %s.',
    p.polname, t.label,
    (
      select pg_catalog.string_agg(coalesce(r.rolname, 'PUBLIC'), ', ' order by r.rolname)
      from pg_catalog.unnest(p.polroles) as grantee
      left join pg_catalog.pg_roles r on r.oid = grantee
    ),
    coalesce(pg_catalog.pg_get_expr(p.polqual, p.polrelid), pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid))
  ) as detail,
  'Drop it, or make it RESTRICTIVE: what narrows within a tenant is welcome.' as remediation,
  pg_catalog.format('0007_extra_policy:%s.%s.%s', t.schema, t.name, p.polname) as key
from tenant_tables t
join pg_catalog.pg_policy p on p.polrelid = t.oid
where p.polpermissive
  and p.polname not in ('tenant_isolation', 'owner_access')
  and not (p.polname = 'tenant_access' and t.app_may <> '{}')
  -- The functions of the queue see every tenant's jobs; nobody can log in as their owner.
  and not (
    t.schema = 'rowhouse' and p.polname = 'queue_access'
    and p.polroles = array[pg_catalog.to_regrole('rowhouse_queue')::oid]
  )
