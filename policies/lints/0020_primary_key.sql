-- The primary key begins with the tenant: an id taken in one tenant must not be seen as taken in another, and every
-- query of the application filters by it.
select
  '0020_primary_key' as rule,
  'error' as level,
  t.schema,
  t.name as object,
  case
    when k.oid is null then pg_catalog.format('The tenant table %s has no primary key.', t.label)
    else pg_catalog.format('The primary key of %s does not begin with %I.', t.label, t.tenant_column)
  end as detail,
  'Make it `primary key (tenant_id, …)`, as tenantTable() does.' as remediation,
  pg_catalog.format('0020_primary_key:%s.%s', t.schema, t.name) as key
from tenant_tables t
left join pg_catalog.pg_constraint k on k.conrelid = t.oid and k.contype = 'p'
where not t.is_partition and k.conkey[1] is distinct from t.tenant_attnum
