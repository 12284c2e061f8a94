-- A SECURITY DEFINER function runs with its owner's rights, and the owner sees every tenant's rows. Those of the
-- framework are looked after by rule 0031.
select
  '0027_definer_function' as rule,
  'error' as level,
  f.schema,
  f.signature as object,
  pg_catalog.format('%s can run %I.%s with the rights of "%s".', reach.who, f.schema, f.signature, owner.rolname) as detail,
  'Make it SECURITY INVOKER, or revoke EXECUTE. If it must be: review that it returns only rows of rowhouse.current_tenant(), '
    || 'and suppress the key, which changes with the function.' as remediation,
  pg_catalog.format('0027_definer_function:%s.%s:%s', f.schema, f.signature, pg_catalog.left(pg_catalog.md5(f.body), 12)) as key
from functions f
join pg_catalog.pg_roles owner on owner.oid = f.owner
cross join lateral (
  select pg_catalog.string_agg(who, ', ' order by who)
  from (
    select s.name
    from pg_catalog.aclexplode(f.acl) as a
    join serving_roles s on s.oid = a.grantee
    -- A trigger's function runs for whoever writes to the table, EXECUTE or not.
    union
    select 'a trigger on ' || r.label
    from pg_catalog.pg_trigger g
    join relations r on r.oid = g.tgrelid
    where g.tgfoid = f.oid
  ) as grantee (who)
) as reach (who)
where f.is_definer and f.schema <> 'rowhouse' and reach.who is not null
