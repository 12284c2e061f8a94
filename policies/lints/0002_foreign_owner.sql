-- Whoever owns a table can take its wall down, and `rowhouse migrate` can only secure what the owner role owns.
select
  '0002_foreign_owner' as rule,
  'error' as level,
  o.schema,
  o.name as object,
  pg_catalog.format('The %s %s is owned by "%s", not by "rowhouse_owner".', o.what, o.label, r.rolname) as detail,
  'Run `alter … owner to rowhouse_owner` as its present owner or as an administrator, then `rowhouse migrate`.' as remediation,
  pg_catalog.format('0002_foreign_owner:%s.%s', o.schema, o.name) as key
from (
  select
    case kind when 'v' then 'view' when 'm' then 'materialized view' when 'S' then 'sequence' else 'table' end as what,
    schema, name, label, owner
  from relations
  union all
  select 'function', schema, signature, pg_catalog.format('%I.%s', schema, signature), owner from functions
) as o
join pg_catalog.pg_roles r on r.oid = o.owner
where (o.schema in ('rowhouse', 'global') or o.schema = any ($1::text[]))
  and r.rolname <> 'rowhouse_owner'
  and not (o.what = 'function' and r.rolname = 'rowhouse_queue')
