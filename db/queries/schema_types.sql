-- For scripts/dump-schema.ts: enums, domains and sequences of our schemas. The row types of tables, and arrays, follow from
-- what they belong to; so do the sequences of identity columns.
select pg_catalog.format('create type %I.%I as enum (%s);', n.nspname, t.typname, (
    select pg_catalog.string_agg(pg_catalog.quote_literal(e.enumlabel), ', ' order by e.enumsortorder)
    from pg_catalog.pg_enum e where e.enumtypid = t.oid
  )) as ddl
from pg_catalog.pg_type t
join pg_catalog.pg_namespace n on n.oid = t.typnamespace
where n.nspname in ('rowhouse', 'public', 'global', 'extensions') and t.typtype = 'e'

union all
select pg_catalog.concat(
    pg_catalog.format('create domain %I.%I as %s', n.nspname, t.typname, pg_catalog.format_type(t.typbasetype, t.typtypmod)),
    ' default ' || t.typdefault, case when t.typnotnull then ' not null' end,
    (
      select pg_catalog.string_agg(
        pg_catalog.format(E'\n  constraint %I %s', k.conname, pg_catalog.pg_get_constraintdef(k.oid)), '' order by k.conname)
      from pg_catalog.pg_constraint k where k.contypid = t.oid and k.contype = 'c'
    ), ';')
from pg_catalog.pg_type t
join pg_catalog.pg_namespace n on n.oid = t.typnamespace
where n.nspname in ('rowhouse', 'public', 'global', 'extensions') and t.typtype = 'd'

union all
select pg_catalog.format('create sequence %I.%I as %s start %s increment %s;', s.schemaname, s.sequencename, s.data_type,
    s.start_value, s.increment_by)
from pg_catalog.pg_sequences s
join pg_catalog.pg_namespace n on n.nspname = s.schemaname
join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = s.sequencename
where n.nspname in ('rowhouse', 'public', 'global', 'extensions')
  and not exists (
    select from pg_catalog.pg_depend d
    where d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid and d.deptype = 'i'
  )
order by 1;
