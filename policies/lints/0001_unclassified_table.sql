-- Every table is a tenant's or global; what is neither carries no wall that anybody could check.
select
  '0001_unclassified_table' as rule,
  'error' as level,
  r.schema,
  r.name as object,
  pg_catalog.format(
    'The %s %s is neither a tenant table nor a global one: %s.',
    case r.kind when 'f' then 'foreign table' when 'm' then 'materialized view' else 'table' end, r.label,
    case
      when r.kind = 'f' then 'a foreign table cannot carry row-level security'
      when r.kind = 'm' then 'a materialized view cannot carry row-level security, and it is not in schema global'
      when r.schema = 'global' then 'it is in schema global and has a column tenant_id'
      when has_tenant then 'it has a column tenant_id, but its schema is not one of those that hold tenant tables'
      else 'it has no column tenant_id and is not in schema global'
    end
  ) as detail,
  'Declare it with tenantTable() (it needs a tenant_id) or globalTable() (it goes to schema global), then run `rowhouse migrate`.'
    as remediation,
  pg_catalog.format('0001_unclassified_table:%s.%s', r.schema, r.name) as key
from relations r
cross join lateral (
  select exists (
    select from pg_catalog.pg_attribute a
    where a.attrelid = r.oid and a.attname = 'tenant_id' and not a.attisdropped
  ) as has_tenant
) as tenant
where r.kind in ('r', 'p', 'f', 'm')
  and not exists (select from tenant_tables t where t.oid = r.oid)
  and not exists (select from dedicated_tables t where t.oid = r.oid)
  -- A partition elsewhere is its parent's affair, unless it is foreign: then its rows have no wall where they are.
  and not (r.is_partition and r.kind <> 'f')
  and not (r.schema = 'global' and r.kind <> 'f' and not has_tenant)
