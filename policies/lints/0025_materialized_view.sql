-- A materialized view holds a copy of the rows and cannot carry row-level security.
select
  '0025_materialized_view' as rule,
  'error' as level,
  r.schema,
  r.name as object,
  pg_catalog.format('The materialized view %s holds rows of %s without a wall.', r.label, sources.labels) as detail,
  'Use a tenant table that a job keeps up to date, or a view with security_invoker.' as remediation,
  pg_catalog.format('0025_materialized_view:%s.%s', r.schema, r.name) as key
from relations r
cross join lateral (
  with recursive source (oid) as (
    select r.oid
    union
    select d.refobjid
    from source
    join pg_catalog.pg_rewrite w on w.ev_class = source.oid
    join pg_catalog.pg_depend d
      on d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass and d.objid = w.oid
      and d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
  )
  select pg_catalog.string_agg(t.label, ', ' order by t.label)
  from source
  join tenant_tables t on t.oid = source.oid
) as sources (labels)
where r.kind = 'm' and sources.labels is not null
