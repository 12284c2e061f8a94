-- tenant_id is what the policies compare: a uuid, never null, filled in by the transaction's tenant.
select
  '0003_tenant_column' as rule,
  'error' as level,
  t.schema,
  t.name as object,
  pg_catalog.format('Column %I of %s %s.', t.tenant_column, t.label, problems) as detail,
  'Make it `tenant_id uuid not null default rowhouse.current_tenant()`, as tenantTable() does.' as remediation,
  pg_catalog.format('0003_tenant_column:%s.%s', t.schema, t.name) as key
from tenant_tables t
join pg_catalog.pg_attribute a on a.attrelid = t.oid and a.attnum = t.tenant_attnum
left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
cross join lateral pg_catalog.concat_ws(
  ', ',
  case when a.atttypid <> 'pg_catalog.uuid'::pg_catalog.regtype
    then 'is of type ' || pg_catalog.format_type(a.atttypid, a.atttypmod) end,
  case when not a.attnotnull then 'may be null' end,
  case
    when d.oid is null then 'has no default'
    when pg_catalog.pg_get_expr(d.adbin, d.adrelid) <> 'rowhouse.current_tenant()'
      then 'has the default ' || pg_catalog.pg_get_expr(d.adbin, d.adrelid)
  end
) as problems
where not t.is_partition and problems <> ''
