-- The queue by queue and type: what is ready, waits, runs and is dead, how old the oldest ready job is, and how the last hour went.
with live as (
  select j.queue, j.type,
    count(r.seq) as ready, count(w.job_id) as waiting,
    count(*) filter (where r.seq is null and w.job_id is null) as running,
    pg_catalog.max(pg_catalog.clock_timestamp() - greatest(j.run_at, j.created_at)) filter (where r.seq is not null) as oldest
  from rowhouse.jobs j
  left join rowhouse.ready_jobs r on r.job_id = j.id
  left join rowhouse.waiting_jobs w on w.tenant_id = j.tenant_id and w.job_id = j.id
  group by j.queue, j.type
),
dead as (
  select d.queue, d.type, count(*) as dead from rowhouse.dead_jobs d group by d.queue, d.type
),
past as (
  select h.queue, h.type, count(*) filter (where h.outcome = 'done') as done,
    pg_catalog.percentile_cont(0.95) within group (order by extract(epoch from h.finished_at - h.started_at)) as p95_run,
    pg_catalog.percentile_cont(0.95) within group (order by extract(epoch from h.started_at - h.created_at)) as p95_wait
  from rowhouse.job_history h
  where h.finished_at > pg_catalog.now() - interval '1 hour'
  group by h.queue, h.type
)
select k.queue, k.type, coalesce(l.ready, 0)::integer as ready, coalesce(l.waiting, 0)::integer as waiting,
  coalesce(l.running, 0)::integer as running, coalesce(d.dead, 0)::integer as dead,
  extract(epoch from l.oldest)::float8 as "oldestReady", coalesce(p.done, 0)::integer as "doneLastHour",
  p.p95_run::float8 as "p95Run", p.p95_wait::float8 as "p95Wait"
from (
  select queue, type from live union select queue, type from dead union select queue, type from past
) as k
left join live l on l.queue = k.queue and l.type = k.type
left join dead d on d.queue = k.queue and d.type = k.type
left join past p on p.queue = k.queue and p.type = k.type
order by k.queue, k.type;
