-- The shared tenant tables with what they hold, and their indexes that row-level security keeps from being used: before the policy has
-- admitted a row, PostgreSQL applies only operators and functions that are leakproof
-- (https://www.postgresql.org/docs/current/rules-privileges.html). Runs with search_path = ''.
with tables as (
  select c.oid, pg_catalog.format('%I.%I', n.nspname, c.relname) as name, c.relname::text as short_name,
    (select pg_catalog.sum(case when p.reltuples < 0 then null else p.reltuples end)
     from pg_catalog.pg_partition_tree(c.oid) t join pg_catalog.pg_class p on p.oid = t.relid and t.isleaf) as partitions_rows,
    case when c.reltuples >= 0 then c.reltuples end as own_rows,
    (select coalesce(pg_catalog.sum(pg_catalog.pg_total_relation_size(t.relid)), 0) from pg_catalog.pg_partition_tree(c.oid) t) as partitions_bytes,
    pg_catalog.pg_total_relation_size(c.oid) as own_bytes
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
  where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition
),
-- The columns of an index after the tenant, and why each cannot be searched by.
obstacles as (
  select t.oid as table_oid, i.indexrelid,
    case
      when k.attnum = 0 then 'an expression'
      when oc.opcname like '%pattern_ops' then 'LIKE'
      else (
        select pg_catalog.string_agg(distinct o.oprname, ' ' order by o.oprname)
        from pg_catalog.pg_amop ao
        join pg_catalog.pg_operator o on o.oid = ao.amopopr
        join pg_catalog.pg_proc p on p.oid = o.oprcode
        where ao.amopfamily = oc.opcfamily and ao.amoplefttype = oc.opcintype and ao.amoppurpose = 's'
        having not pg_catalog.bool_or(p.proleakproof)
      )
    end as why
  from tables t
  join pg_catalog.pg_index i on i.indrelid = t.oid and i.indisvalid
  cross join lateral rows from (pg_catalog.unnest(i.indkey::smallint[]), pg_catalog.unnest(i.indclass::oid[])) as k (attnum, opclass)
  join pg_catalog.pg_opclass oc on oc.oid = k.opclass
),
hindered as (
  select o.table_oid, x.relname::text as name, pg_catalog.string_agg(distinct o.why, ', ') as why
  from obstacles o
  join pg_catalog.pg_class x on x.oid = o.indexrelid
  where o.why is not null
  group by o.table_oid, x.relname
)
select t.name as table,
  coalesce(t.partitions_rows, t.own_rows)::float8 as "rowsEstimate",
  greatest(t.partitions_bytes, t.own_bytes)::float8 as bytes,
  coalesce((
    select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('index', h.name, 'searchesBy', h.why) order by h.name)
    from hindered h where h.table_oid = t.oid
  ), '[]') as hindered
from tables t
order by t.name collate "C";
