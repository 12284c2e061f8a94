-- A tenant's schema without its tenant: left behind by a provisioning that was killed, or its tenant was deleted past it.
select
  '0035_orphaned_schema' as rule,
  'warning' as level,
  d.name as schema,
  null as object,
  case
    when t.id is null then pg_catalog.format('The schema %s belongs to tenant %s, which does not exist.', d.name, d.tenant)
    else pg_catalog.format('Tenant %s has the placement "%s", but there is a schema %s for it.', d.tenant, t.placement, d.name)
  end as detail,
  case
    when t.id is null then 'If nothing is being provisioned at this moment: look into it, then `drop schema … cascade` and drop its role.'
    else pg_catalog.format('If it is not being moved at this moment: `rowhouse tenant move %s --to %s` removes the schema.', t.slug, t.placement)
  end as remediation,
  pg_catalog.format('0035_orphaned_schema:%s', d.name) as key
from dedicated_schemas d
left join rowhouse.tenants t on t.id = d.tenant
where t.placement is distinct from 'schema'
