-- How far each target is: one row for the shared schema and for each dedicated one.
--   $1 text[]: ids of all migrations, in order   $2 text[]: those of the application, which dedicated schemas get
with targets as (
  select 'shared' as target, $1::text[] as ids
  union all
  select n.nspname::text, $2::text[] from pg_catalog.pg_namespace n where n.nspname ~ '^t_[0-9a-f]{32}$'
)
select t.target,
  case
    when failed.id is not null then 'failed'
    when pending.ids is null then 'current'
    else 'behind'
  end as state,
  coalesce(pending.ids, '{}') as pending,
  failed.id as "failedMigration", failed.error, failed.attempts,
  (select pg_catalog.max(m.applied_at) from rowhouse.migrations m where m.target = t.target) as "lastAppliedAt"
from targets t
cross join lateral (
  select pg_catalog.array_agg(w.id order by w.position) as ids
  from pg_catalog.unnest(t.ids) with ordinality as w (id, position)
  where not exists (
    select from rowhouse.migrations m where m.target = t.target and m.id = w.id and m.state = 'applied'
  )
) as pending
left join lateral (
  select m.id, m.error, m.attempts from rowhouse.migrations m
  where m.target = t.target and m.state = 'failed'
  order by m.id limit 1
) as failed on true
order by t.target <> 'shared', t.target;
