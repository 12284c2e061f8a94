-- Each tenant table has the template's policies (policies/tenant_table.sql), to the letter.
select
  '0006_template_policy' as rule,
  'error' as level,
  t.schema,
  t.name as object,
  pg_catalog.format('Policy %s on %s %s.', expected.name, t.label, problems) as detail,
  'Run `rowhouse migrate`, which secures every tenant table again.' as remediation,
  pg_catalog.format('0006_template_policy:%s.%s.%s', t.schema, t.name, expected.name) as key
from (
  select tenant_tables.*, app_may && array['INSERT', 'UPDATE'] as app_writes,
    -- The framework's tables serve tenants of every placement.
    case schema when 'rowhouse' then array['rowhouse_app', 'rowhouse_tenant'] else array['rowhouse_app'] end as roles,
    pg_catalog.format('(%I = ( SELECT rowhouse.current_tenant() AS current_tenant))', tenant_column) as wall
  from tenant_tables
  where not is_partition
) as t
cross join lateral (
  values
    ('tenant_isolation', false, t.roles, '*', t.wall, case when app_writes then t.wall end),
    ('tenant_access', true, t.roles, case when app_writes then '*' else 'r' end, 'true', case when app_writes then 'true' end),
    ('owner_access', true, array['rowhouse_owner'], '*', 'true', 'true')
) as expected (name, is_permissive, roles, command, using_expression, check_expression)
left join pg_catalog.pg_policy p on p.polrelid = t.oid and p.polname = expected.name
cross join lateral (
  select pg_catalog.pg_get_expr(p.polqual, t.oid), pg_catalog.pg_get_expr(p.polwithcheck, t.oid),
    array(
      select coalesce(r.rolname, 'PUBLIC')::text
      from pg_catalog.unnest(p.polroles) as grantee left join pg_catalog.pg_roles r on r.oid = grantee
      order by 1
    )
) as actual (using_expression, check_expression, roles)
cross join lateral pg_catalog.concat_ws(
  ', ',
  case when p.oid is null then 'is missing' end,
  case when p.polpermissive <> expected.is_permissive then 'is ' || case when p.polpermissive then 'permissive' else 'restrictive' end end,
  case when p.oid is not null and actual.roles <> expected.roles
    then 'is not for ' || pg_catalog.array_to_string(expected.roles, ' and ') || ' alone' end,
  case when p.polcmd <> expected.command::"char" then 'is for another command than it should be' end,
  case when p.oid is not null and actual.using_expression is distinct from expected.using_expression
    then 'has USING ' || coalesce(actual.using_expression, 'nothing') end,
  case when p.oid is not null and actual.check_expression is distinct from expected.check_expression
    then 'has WITH CHECK ' || coalesce(actual.check_expression, 'nothing') end
) as problems
where problems <> '' and (expected.name = 'owner_access' or t.app_may <> '{}')
