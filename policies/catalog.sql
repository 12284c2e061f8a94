-- What every rule looks at, as common table expressions: the doctor puts this text in front of a rule.
--   $1  text[]: the schemas that hold tenant tables
-- Objects of extensions and of the server itself are left out throughout.
with recursive
-- Tables of the framework that are not the template's, and why. What is not listed is as policies/tenant_table.sql says.
deliberate_tables (name, tenant_column, app_may) as (
  values
    -- A tenant is the row: its id is the tenant. The application reads its own and writes none.
    ('tenants', 'id', array['SELECT']),
    -- Found through rowhouse.find_tenant_by_domain() only.
    ('domains', 'tenant_id', array[]::text[]),
    -- The operator's account of moves.
    ('moves', 'tenant_id', array[]::text[]),
    -- Written by rowhouse_queue's functions alone.
    ('jobs', 'tenant_id', array['SELECT']),
    ('ready_jobs', 'tenant_id', array['SELECT']),
    ('waiting_jobs', 'tenant_id', array['SELECT']),
    ('dead_jobs', 'tenant_id', array['SELECT']),
    ('job_history', 'tenant_id', array['SELECT'])
),
-- Findings that are meant to be: the key, and the reason. Kept short; a test fails when one is no longer needed.
exceptions (key, reason) as (
  values
    ('0001_unclassified_table:rowhouse.migrations', 'the ledger of migrations: the owner''s alone'),
    ('0001_unclassified_table:rowhouse.claims', 'what workers hold, of many tenants: rowhouse_queue''s functions alone read it'),
    ('0001_unclassified_table:rowhouse.job_controls', 'the operator''s: rowhouse_queue''s functions read it'),
    ('0001_unclassified_table:rowhouse.workers', 'who is alive: rowhouse_queue''s functions alone read it'),
    ('0003_tenant_column:rowhouse.tenants', 'the tenant''s own id'),
    ('0003_tenant_column:rowhouse.domains', 'written by the owner, who has no current tenant'),
    ('0003_tenant_column:rowhouse.moves', 'written by the owner, who has no current tenant'),
    ('0020_primary_key:rowhouse.domains', 'a domain belongs to one tenant in the world, or it could not say whose it is'),
    ('0020_primary_key:rowhouse.ready_jobs', 'lines are found by their numbers, over all tenants'),
    ('0021_unique_without_tenant:rowhouse.tenants.tenants_slug_key', 'a slug says which tenant is meant'),
    ('0021_unique_without_tenant:rowhouse.api_keys.api_keys_prefix_key', 'a prefix says whose key it is; it is random')
),
-- The roles of tenants that live in a schema of their own.
dedicated_roles (oid, name) as (
  select r.oid, r.rolname::text
  from pg_catalog.pg_roles r
  where r.rolname ~ ('^' || pg_catalog.replace('rowhouse_tenant', '_tenant', '_t_') || '[0-9a-f]{32}$')
),
-- Who serves requests and jobs, and PUBLIC, of which they are part: whoever must hold no more than is written down.
serving_roles (oid, name) as (
  select r.oid, r.rolname::text
  from pg_catalog.pg_roles r
  where r.rolname in ('rowhouse_app', 'rowhouse_worker', 'rowhouse_tenant')
  union all
  select oid, name from dedicated_roles
  union all
  select 0, 'PUBLIC'
),
schemas as (
  select n.oid, n.nspname::text as name
  from pg_catalog.pg_namespace n
  where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
),
relations as (
  select c.oid, s.name as schema, c.relname::text as name, c.relkind as kind, c.relowner as owner,
    c.relrowsecurity as rls_enabled, c.relforcerowsecurity as rls_forced, c.reloptions as options, c.relispartition as is_partition,
    coalesce(c.relacl, pg_catalog.acldefault(case c.relkind when 'S' then 's' else 'r' end::"char", c.relowner)) as acl,
    pg_catalog.format('%I.%I', s.name, c.relname) as label
  from pg_catalog.pg_class c
  join schemas s on s.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'f', 'v', 'm', 'S')
    and not exists (
      select from pg_catalog.pg_depend d
      where d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid and d.deptype = 'e'
    )
),
-- A partition is reached through its parent, whose wall then counts: it needs none, and no grants.
tenant_tables as (
  select r.*, a.attnum as tenant_attnum, a.attname::text as tenant_column,
    coalesce(d.app_may, array['SELECT', 'INSERT', 'UPDATE', 'DELETE']) as app_may
  from relations r
  left join deliberate_tables d on r.schema = 'rowhouse' and d.name = r.name
  join pg_catalog.pg_attribute a
    on a.attrelid = r.oid and a.attname = coalesce(d.tenant_column, 'tenant_id') and not a.attisdropped
  where r.kind in ('r', 'p') and (r.schema = any ($1::text[]) or r.schema = 'rowhouse')
),
-- Schemas of one tenant each, the role that may reach each, and their tables.
dedicated_schemas as (
  select s.oid, s.name, pg_catalog.right(s.name, 32)::uuid as tenant,
    pg_catalog.replace('rowhouse_tenant', '_tenant', '') || '_' || s.name as role
  from schemas s
  where s.name ~ '^t_[0-9a-f]{32}$'
),
dedicated_tables as (
  select r.*, d.tenant, d.role
  from relations r
  join dedicated_schemas d on d.name = r.schema
  where r.kind in ('r', 'p') and not r.is_partition
),
functions as (
  select p.oid, s.name as schema, p.proname::text as name, p.proowner as owner, p.prosecdef as is_definer,
    p.provolatile as volatility, p.proleakproof as is_leakproof, p.proisstrict as is_strict, p.proconfig as settings,
    l.lanname::text as language, p.prorettype as returns,
    coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner)) as acl,
    coalesce(pg_catalog.pg_get_function_sqlbody(p.oid), p.prosrc) as body,
    pg_catalog.format('%s(%s)', p.proname, pg_catalog.oidvectortypes(p.proargtypes)) as signature
  from pg_catalog.pg_proc p
  join schemas s on s.oid = p.pronamespace
  join pg_catalog.pg_language l on l.oid = p.prolang
  where not exists (
    select from pg_catalog.pg_depend d
    where d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass and d.objid = p.oid and d.deptype = 'e'
  )
)
