-- Tables that the template (policies/tenant_table.sql) is to be run on: every table of the tenant schemas ($1, text[])
-- with a tenant_id column on which something of the template is missing or different. One row a table, none when all is
-- as it should be. Reads the catalog only, so it waits for nobody. Runs with search_path = '', which decides how
-- expressions are printed.
with tenant_tables as (
  select c.oid, n.nspname, c.relname, c.relispartition, c.relowner, c.relrowsecurity, c.relforcerowsecurity,
    coalesce(c.relacl, pg_catalog.acldefault('r', c.relowner)) as acl, a.atttypid
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
  where n.nspname = any ($1::text[]) and c.relkind in ('r', 'p')
),
wanted_policies as (
  select * from (values
    ('tenant_isolation', false, 'rowhouse_app', '(tenant_id = ( SELECT rowhouse.current_tenant() AS current_tenant))'),
    ('tenant_access', true, 'rowhouse_app', 'true'),
    ('owner_access', true, 'rowhouse_owner', 'true')
  ) as w (name, is_permissive, role_name, expression)
),
reasons as (
  select t.oid, 'it belongs to ' || pg_catalog.pg_get_userbyid(t.relowner) || ' and not to rowhouse_owner' as reason
  from tenant_tables t where t.relowner is distinct from pg_catalog.to_regrole('rowhouse_owner')
  union all
  select t.oid, 'its tenant_id is ' || pg_catalog.format_type(t.atttypid, null) || ' and not uuid'
  from tenant_tables t where t.atttypid <> 'pg_catalog.uuid'::pg_catalog.regtype
  union all
  select t.oid, 'row-level security is not enabled' from tenant_tables t where not t.relrowsecurity
  union all
  select t.oid, 'row-level security is not forced' from tenant_tables t where not t.relforcerowsecurity
  union all
  select t.oid, pg_catalog.format('policy %s is missing or different', w.name)
  from tenant_tables t, wanted_policies w
  where not exists (
    select from pg_catalog.pg_policy p
    where p.polrelid = t.oid and p.polname = w.name and p.polpermissive = w.is_permissive and p.polcmd = '*'
      and p.polroles = array[pg_catalog.to_regrole(w.role_name)::oid]
      and pg_catalog.pg_get_expr(p.polqual, p.polrelid) = w.expression
      and pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid) = w.expression
  )
  union all
  -- A partition is reached through its parent only, whose policies then decide.
  select t.oid, 'the grants of rowhouse_app are different'
  from tenant_tables t
  where (
    select pg_catalog.string_agg(a.privilege_type || case when a.is_grantable then '*' else '' end, ' ' order by a.privilege_type)
    from (select distinct e.privilege_type, e.is_grantable
      from pg_catalog.aclexplode(t.acl) e where e.grantee = pg_catalog.to_regrole('rowhouse_app')) a
  ) is distinct from case when t.relispartition then null else 'DELETE INSERT SELECT UPDATE' end
  union all
  select distinct t.oid, pg_catalog.format('%s has grants', coalesce(r.rolname, 'PUBLIC'))
  from tenant_tables t
  cross join lateral pg_catalog.aclexplode(t.acl) e
  left join pg_catalog.pg_roles r on r.oid = e.grantee
  where e.grantee = 0 or r.rolname = 'rowhouse_worker'
  union all
  select distinct t.oid, pg_catalog.format('%s has grants on columns', coalesce(r.rolname, 'PUBLIC'))
  from tenant_tables t
  join pg_catalog.pg_attribute c on c.attrelid = t.oid and c.attacl is not null
  cross join lateral pg_catalog.aclexplode(c.attacl) e
  left join pg_catalog.pg_roles r on r.oid = e.grantee
  where e.grantee = 0 or r.rolname in ('rowhouse_app', 'rowhouse_worker')
)
select pg_catalog.format('%I.%I', t.nspname, t.relname) as "table",
  t.relispartition as is_partition,
  -- The template cannot help here: someone has to decide.
  pg_catalog.bool_or(r.reason like 'it%') as is_beyond_repair,
  pg_catalog.array_agg(r.reason order by r.reason) as reasons
from tenant_tables t
join reasons r on r.oid = t.oid
group by t.oid, t.nspname, t.relname, t.relispartition
order by 1;
