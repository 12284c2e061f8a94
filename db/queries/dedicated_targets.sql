-- The dedicated schemas in which something is to do: one row each, none when all is as it should be.
--   $1 text[]: ids of the application's migrations, in order   $2 text[]: their checksums
with targets as (
  select n.oid, n.nspname::text as target,
    pg_catalog.to_regrole(pg_catalog.replace('rowhouse_tenant', '_tenant', '') || '_' || n.nspname) as role,
    pg_catalog.right(n.nspname, 32)::uuid as tenant,
    coalesce(n.nspacl, pg_catalog.acldefault('n', n.nspowner)) as acl
  from pg_catalog.pg_namespace n
  where n.nspname ~ '^t_[0-9a-f]{32}$'
),
-- Migrations that are not applied, and those that were edited since: the runner refuses these by name.
pending as (
  select t.target, pg_catalog.array_agg(w.id order by w.position) as ids
  from targets t
  cross join rows from (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::text[])) with ordinality as w (id, checksum, position)
  where not exists (
    select from rowhouse.migrations m
    where m.target = t.target and m.id = w.id and m.state = 'applied' and m.checksum = w.checksum
  )
  group by t.target
),
tables as (
  select t.target, t.role, t.tenant, c.oid, pg_catalog.format('%I.%I', t.target, c.relname) as name,
    c.relrowsecurity or c.relforcerowsecurity as has_rls,
    coalesce(c.relacl, pg_catalog.acldefault('r', c.relowner)) as acl
  from targets t
  join pg_catalog.pg_class c on c.relnamespace = t.oid and c.relkind in ('r', 'p') and not c.relispartition
  join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
),
-- Sequences of defaults: an identity column needs no grant, a serial's default runs as the caller.
sequences as (
  select distinct t.target, t.role, pg_catalog.format('%I.%I', t.target, s.relname) as name,
    coalesce(s.relacl, pg_catalog.acldefault('s', s.relowner)) as acl
  from tables t
  join pg_catalog.pg_attrdef f on f.adrelid = t.oid
  join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass and d.objid = f.oid
    and d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
  join pg_catalog.pg_class s on s.oid = d.refobjid and s.relkind = 'S'
),
insecure as (
  select t.target, 'table' as kind, t.name
  from tables t
  where t.has_rls
    or not exists (
      select from pg_catalog.pg_constraint k
      where k.conrelid = t.oid and k.conname = 'tenant_id_is_own' and k.convalidated
        and pg_catalog.pg_get_constraintdef(k.oid) = pg_catalog.format('CHECK ((tenant_id = %L::uuid))', t.tenant)
    )
    or (
      select pg_catalog.string_agg(e.privilege_type || case when e.is_grantable then '*' else '' end, ' ' order by e.privilege_type)
      from pg_catalog.aclexplode(t.acl) e where e.grantee = t.role
    ) is distinct from 'DELETE INSERT SELECT UPDATE'
    or exists (
      select from pg_catalog.aclexplode(t.acl) e
      left join pg_catalog.pg_roles r on r.oid = e.grantee
      where e.grantee = 0 or r.rolname in ('rowhouse_app', 'rowhouse_worker', 'rowhouse_tenant')
    )
  union all
  select s.target, 'sequence', s.name
  from sequences s
  where not exists (
    select from pg_catalog.aclexplode(s.acl) e where e.grantee = s.role and e.privilege_type = 'USAGE'
  )
  union all
  select t.target, 'schema', t.target
  from targets t
  where not exists (
    select from pg_catalog.aclexplode(t.acl) e where e.grantee = t.role and e.privilege_type = 'USAGE'
  )
)
select t.target, t.tenant, coalesce(p.ids, '{}') as pending,
  exists (select from rowhouse.migrations m where m.target = t.target and m.state = 'failed') as "hasFailed",
  coalesce(
    (select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('kind', i.kind, 'name', i.name) order by i.kind, i.name)
     from insecure i where i.target = t.target), '[]') as insecure
from targets t
left join pending p on p.target = t.target
where p.ids is not null or exists (select from insecure i where i.target = t.target)
order by t.target;
