-- Grants beside the template's that are not as they should be: SELECT on the tables of schema global, and USAGE on the
-- sequences behind the defaults of tenant tables ($1, text[]: the tenant schemas). One row an object, with the statements
-- that put it right. An identity column needs no grant on its sequence; a serial's default runs as the caller.
with objects as (
  select c.oid, 'table' as kind, pg_catalog.format('%I.%I', n.nspname, c.relname) as name,
    coalesce(c.relacl, pg_catalog.acldefault('r', c.relowner)) as acl, 'SELECT' as wanted,
    array['rowhouse_app', 'rowhouse_tenant'] as grantees
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where n.nspname = 'global' and c.relkind in ('r', 'p') and not c.relispartition
  union
  select s.oid, 'sequence', pg_catalog.format('%I.%I', sn.nspname, s.relname),
    coalesce(s.relacl, pg_catalog.acldefault('s', s.relowner)), 'USAGE', array['rowhouse_app']
  from pg_catalog.pg_attribute a
  join pg_catalog.pg_class c on c.oid = a.attrelid and c.relkind in ('r', 'p') and not c.relispartition
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  join pg_catalog.pg_attrdef f on f.adrelid = c.oid
  join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass and d.objid = f.oid
    and d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
  join pg_catalog.pg_class s on s.oid = d.refobjid and s.relkind = 'S'
  join pg_catalog.pg_namespace sn on sn.oid = s.relnamespace
  where n.nspname = any ($1::text[]) and a.attname = 'tenant_id' and not a.attisdropped
)
select name, pg_catalog.format(
    'revoke all on %1$s %2$s from public, %4$s; grant %3$s on %1$s %2$s to %4$s',
    kind, name, pg_catalog.lower(wanted), pg_catalog.array_to_string(grantees, ', ')) as remedy
from objects o
where exists (
    select from pg_catalog.unnest(grantees) as role_name
    where (
      select pg_catalog.string_agg(e.privilege_type || case when e.is_grantable then '*' else '' end, ' ')
      from pg_catalog.aclexplode(o.acl) e where e.grantee = pg_catalog.to_regrole(role_name)
    ) is distinct from wanted
  )
  or exists (select from pg_catalog.aclexplode(o.acl) e where e.grantee = 0)
order by 1;
