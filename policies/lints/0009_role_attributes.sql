-- Superusers and BYPASSRLS roles walk past every policy; the other attributes let a role become one of them.
select
  '0009_role_attributes' as rule,
  'error' as level,
  null as schema,
  expected.name as object,
  pg_catalog.format('Role "%s" %s.', expected.name, problems) as detail,
  'Run `rowhouse init-database`, and take the attribute away with `alter role`.' as remediation,
  pg_catalog.format('0009_role_attributes:%s', expected.name) as key
from (
  select name, false, true from dedicated_roles
  union all
  select name, may_login, false from (values ('rowhouse_owner', true), ('rowhouse_app', true), ('rowhouse_worker', true), ('rowhouse_queue', false),
    ('rowhouse_tenant', false)
  ) as framework (name, may_login)
) as expected (name, may_login, may_inherit)
left join pg_catalog.pg_roles r on r.rolname = expected.name
cross join lateral pg_catalog.concat_ws(
  ', ',
  case when r.oid is null then 'does not exist' end,
  case when r.rolsuper then 'is a superuser' end,
  case when r.rolbypassrls then 'has BYPASSRLS' end,
  case when r.rolcreaterole then 'has CREATEROLE' end,
  case when r.rolcreatedb then 'has CREATEDB' end,
  case when r.rolreplication then 'has REPLICATION' end,
  case when r.rolinherit and not expected.may_inherit then 'has INHERIT' end,
  case when r.rolcanlogin and not expected.may_login then 'may log in' end
) as problems
where problems <> ''
