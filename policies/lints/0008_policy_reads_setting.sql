-- Whoever can run SQL can set a setting. The tenant is the only one that a policy may ask for.
select
  '0008_policy_reads_setting' as rule,
  'error' as level,
  r.schema,
  r.name as object,
  pg_catalog.format('Policy %I on %s depends on a setting that a session can set: %s.', p.polname, r.label, expressions) as detail,
  'Split the policy by role (`to …`) instead of asking a setting who is calling.' as remediation,
  pg_catalog.format('0008_policy_reads_setting:%s.%s.%s', r.schema, r.name, p.polname) as key
from relations r
join pg_catalog.pg_policy p on p.polrelid = r.oid
cross join lateral pg_catalog.concat_ws(
  ', ', pg_catalog.pg_get_expr(p.polqual, p.polrelid), pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid)
) as expressions
where expressions ~ 'current_setting\('
  or p.oid in (
    select d.objid
    from functions f
    join pg_catalog.pg_depend d
      on d.refclassid = 'pg_catalog.pg_proc'::pg_catalog.regclass and d.refobjid = f.oid
      and d.classid = 'pg_catalog.pg_policy'::pg_catalog.regclass
    where f.body ~ 'current_setting' and not (f.schema = 'rowhouse' and f.name = 'current_tenant')
  )
