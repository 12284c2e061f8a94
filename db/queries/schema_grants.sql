-- For scripts/dump-schema.ts: who but its owner may do what, on every object of our schemas; default privileges too.
with ours as (
  select n.oid, n.nspname
  from pg_catalog.pg_namespace n
  where n.nspname in ('rowhouse', 'public', 'global', 'extensions')
),
acls (kind, name, owner, acl) as (
  select 'database', '…', d.datdba, coalesce(d.datacl, pg_catalog.acldefault('d', d.datdba))
  from pg_catalog.pg_database d where d.datname = pg_catalog.current_database()
  union all
  select 'schema', pg_catalog.quote_ident(n.nspname), n.nspowner,
    coalesce(n.nspacl, pg_catalog.acldefault('n', n.nspowner))
  from pg_catalog.pg_namespace n join ours on ours.oid = n.oid
  union all
  select case c.relkind when 'S' then 'sequence' else 'table' end, pg_catalog.format('%I.%I', ours.nspname, c.relname),
    c.relowner,
    coalesce(c.relacl, pg_catalog.acldefault(case c.relkind when 'S' then 's' else 'r' end::"char", c.relowner))
  from pg_catalog.pg_class c join ours on ours.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
  union all
  select 'table', pg_catalog.format('%I.%I (%I)', ours.nspname, c.relname, a.attname), c.relowner, a.attacl
  from pg_catalog.pg_attribute a
  join pg_catalog.pg_class c on c.oid = a.attrelid
  join ours on ours.oid = c.relnamespace
  where a.attacl is not null
  union all
  select 'function', pg_catalog.format('%I.%I(%s)', ours.nspname, p.proname, pg_catalog.oidvectortypes(p.proargtypes)),
    p.proowner, coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))
  from pg_catalog.pg_proc p join ours on ours.oid = p.pronamespace
  union all
  select 'type', pg_catalog.format('%I.%I', ours.nspname, t.typname), t.typowner, t.typacl
  from pg_catalog.pg_type t join ours on ours.oid = t.typnamespace
  where t.typacl is not null
  union all
  select 'default privileges',
    pg_catalog.concat(
      case d.defaclobjtype when 'r' then 'tables' when 'S' then 'sequences' when 'f' then 'functions' when 'T' then 'types'
        else 'schemas' end,
      ' of ', d.defaclrole::pg_catalog.regrole, ' in ' || nullif(d.defaclnamespace, 0)::pg_catalog.regnamespace),
    d.defaclrole, d.defaclacl
  from pg_catalog.pg_default_acl d
)
select pg_catalog.format('grant %s on %s %s to %s%s;',
    pg_catalog.lower(pg_catalog.string_agg(e.privilege_type, ', ' order by e.privilege_type)), a.kind, a.name,
    coalesce(r.rolname, 'public'), case when e.is_grantable then ' with grant option' end) as ddl
from acls a
cross join lateral pg_catalog.aclexplode(a.acl) e
left join pg_catalog.pg_roles r on r.oid = e.grantee
-- What an owner may on its own objects says nothing, and later versions know more privileges.
where e.grantee <> a.owner or a.kind = 'default privileges'
group by a.kind, a.name, r.rolname, e.is_grantable
order by a.kind, a.name collate "C", r.rolname, e.is_grantable;
