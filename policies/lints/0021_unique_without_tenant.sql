-- Uniqueness is decided over all rows, whoever may see them: a refusal tells what another tenant has.
select
  '0021_unique_without_tenant' as rule,
  'error' as level,
  t.schema,
  t.name as object,
  pg_catalog.format('The %s %I on %s compares rows of all tenants: %I is not among its columns.',
    case when i.indisexclusion then 'exclusion constraint' else 'unique index' end, c.relname, t.label, t.tenant_column)
    as detail,
  'Make it begin with tenant_id, as tenantTable() does.' as remediation,
  pg_catalog.format('0021_unique_without_tenant:%s.%s.%s', t.schema, t.name, c.relname) as key
from tenant_tables t
join pg_catalog.pg_index i on i.indrelid = t.oid
join pg_catalog.pg_class c on c.oid = i.indexrelid
where (i.indisunique or i.indisexclusion)
  -- The primary key has a rule of its own, which leaves parts of other tables out.
  and (not i.indisprimary or t.is_partition)
  -- A partition's index that belongs to the parent's is found there.
  and not c.relispartition
  -- Included columns stand after the key's and are not compared.
  and t.tenant_attnum <> all ((i.indkey::smallint[])[0:i.indnkeyatts - 1])
