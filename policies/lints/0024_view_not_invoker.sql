-- A view reads as its owner unless it is told otherwise, and the owner sees every tenant's rows.
select
  '0024_view_not_invoker' as rule,
  'error' as level,
  r.schema,
  r.name as object,
  pg_catalog.format('The view %s reads with its owner''s rights, not with the caller''s.', r.label) as detail,
  pg_catalog.format('Run `alter view %s set (security_invoker = true)`.', r.label) as remediation,
  pg_catalog.format('0024_view_not_invoker:%s.%s', r.schema, r.name) as key
from relations r
where r.kind = 'v'
  and not exists (
    select from pg_catalog.pg_options_to_table(r.options) as o
    where o.option_name = 'security_invoker' and o.option_value::boolean
  )
