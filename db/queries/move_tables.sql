-- The tables that hold a tenant's rows, as they are in both places: one row a table, in the order of their names. A partition
-- belongs to its parent. Runs with search_path = '', so that types are printed with their schemas.
--   $1 text: the dedicated schema, which need not exist
with tables as (
  select c.oid, c.relname::text as name, n.nspname = 'public' as is_shared
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
  where n.nspname in ('public', $1::text) and c.relkind in ('r', 'p') and not c.relispartition
),
columns as (
  select t.name as table_name, a.attname as name,
    pg_catalog.min(a.attnum) as position,
    pg_catalog.bool_or(a.attgenerated <> '') as is_generated,
    pg_catalog.max(pg_catalog.format_type(a.atttypid, a.atttypmod)) filter (where t.is_shared) as shared_type,
    pg_catalog.max(pg_catalog.format_type(a.atttypid, a.atttypmod)) filter (where not t.is_shared) as dedicated_type
  from tables t
  join pg_catalog.pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
  group by t.name, a.attname
),
column_lists as (
  select c.table_name,
    pg_catalog.string_agg(pg_catalog.quote_ident(c.name), ', ' order by c.position) as all_columns,
    pg_catalog.string_agg(pg_catalog.quote_ident(c.name), ', ' order by c.position) filter (where not c.is_generated) as columns,
    -- An enum or another type of one's own exists once in each place: its values go over as text.
    pg_catalog.string_agg(
      pg_catalog.quote_ident(c.name) || case when c.shared_type <> c.dedicated_type then '::text::' || c.dedicated_type else '' end,
      ', ' order by c.position) filter (where not c.is_generated) as to_dedicated,
    pg_catalog.string_agg(
      pg_catalog.quote_ident(c.name) || case when c.shared_type <> c.dedicated_type then '::text::' || c.shared_type else '' end,
      ', ' order by c.position) filter (where not c.is_generated) as to_shared,
    pg_catalog.array_agg(c.name::text order by c.position) filter (where c.shared_type is null or c.dedicated_type is null) as lonely
  from columns c
  group by c.table_name
),
-- Every relation that a row of the table may be in: its partitions have triggers of their own.
parts as (
  select t.name as table_name, t.is_shared, p.relid as oid
  from tables t
  cross join lateral (
    select t.oid as relid union select pt.relid::oid from pg_catalog.pg_partition_tree(t.oid) pt
  ) as p
),
-- Those that fire for an ordinary session. 4: on INSERT, 8: on DELETE (pg_trigger.h).
triggers as (
  select p.table_name, p.is_shared, p.oid, g.tgname::text as name, g.tgenabled as enabled, g.tgtype as type
  from parts p
  join pg_catalog.pg_trigger g on g.tgrelid = p.oid and not g.tgisinternal and g.tgenabled in ('O', 'A')
)
select
  t.name,
  pg_catalog.format('public.%I', t.name) as shared,
  pg_catalog.format('%I.%I', $1::text, t.name) as dedicated,
  pg_catalog.bool_or(t.is_shared) as "inShared",
  pg_catalog.bool_or(not t.is_shared) as "inDedicated",
  l.all_columns as "allColumns",
  l.columns,
  l.to_dedicated as "toDedicated",
  l.to_shared as "toShared",
  coalesce(l.lonely, '{}') as lonely,
  -- Of the shared table, by which it is read in pieces; empty when it has none.
  coalesce((
    select pg_catalog.array_agg(pg_catalog.quote_ident(a.attname) order by k.position)
    from tables s
    join pg_catalog.pg_constraint p on p.conrelid = s.oid and p.contype = 'p'
    cross join lateral pg_catalog.unnest(p.conkey) with ordinality as k (attnum, position)
    join pg_catalog.pg_attribute a on a.attrelid = s.oid and a.attnum = k.attnum
    where s.name = t.name and s.is_shared and a.attname <> 'tenant_id'
  ), '{}') as key,
  -- Tables of the same place that it refers to, itself among them.
  coalesce((
    select pg_catalog.array_agg(distinct r.name)
    from tables s
    join pg_catalog.pg_constraint f on f.conrelid = s.oid and f.contype = 'f'
    join tables r on r.oid = f.confrelid
    where s.name = t.name
  ), '{}') as "refersTo",
  -- Tables outside that it refers to.
  coalesce((
    select pg_catalog.array_agg(distinct f.confrelid::pg_catalog.regclass::text)
    from tables s
    join pg_catalog.pg_constraint f on f.conrelid = s.oid and f.contype = 'f'
    where s.name = t.name and not exists (select from tables r where r.oid = f.confrelid)
  ), '{}') as "refersOutside",
  coalesce((
    select pg_catalog.array_agg(distinct g.name) from triggers g where g.table_name = t.name and g.is_shared and g.type & 4 <> 0
  ), '{}') as "insertTriggers",
  coalesce((
    select pg_catalog.array_agg(distinct g.name) from triggers g where g.table_name = t.name and g.is_shared and g.type & 8 <> 0
  ), '{}') as "deleteTriggers",
  coalesce((
    select pg_catalog.array_agg(distinct g.name) from triggers g where g.table_name = t.name and g.is_shared and g.enabled = 'A'
  ), '{}') as "alwaysTriggers",
  coalesce((
    select pg_catalog.array_agg(
      pg_catalog.format('alter table only %s disable trigger %I', g.oid::pg_catalog.regclass, g.name) order by g.oid, g.name)
    from triggers g where g.table_name = t.name and not g.is_shared
  ), '{}') as "disableTriggers",
  coalesce((
    select pg_catalog.array_agg(
      pg_catalog.format('alter table only %s enable %s trigger %I', g.oid::pg_catalog.regclass,
        case g.enabled when 'A' then 'always' else '' end, g.name) order by g.oid, g.name)
    from triggers g where g.table_name = t.name and not g.is_shared
  ), '{}') as "enableTriggers"
from tables t
join column_lists l on l.table_name = t.name
group by t.name, l.all_columns, l.columns, l.to_dedicated, l.to_shared, l.lonely
order by t.name collate "C";
