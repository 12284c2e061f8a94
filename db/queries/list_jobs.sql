-- Jobs that have not ended, and those that are dead, the oldest first.
--   $1 uuid, $2 text, $3 text: of this tenant, queue, type; null for any   $4 text: in this state; null for any   $5 integer: at the most
with all_jobs as (
  select j.id, j.tenant_id, j.queue, j.type,
    case when r.seq is not null then 'ready' when w.job_id is not null then 'waiting' else 'running' end as state,
    j.attempts, j.max_attempts, j.run_at, j.created_at, j.failures -> -1 ->> 'message' as failure
  from rowhouse.jobs j
  left join rowhouse.ready_jobs r on r.job_id = j.id
  left join rowhouse.waiting_jobs w on w.tenant_id = j.tenant_id and w.job_id = j.id
  union all
  select d.id, d.tenant_id, d.queue, d.type, 'dead', d.attempts, d.max_attempts, d.died_at, d.created_at, d.failures -> -1 ->> 'message'
  from rowhouse.dead_jobs d
)
select a.id, t.slug as tenant, a.queue, a.type, a.state, a.attempts, a.max_attempts as "maxAttempts", a.run_at as "runAt",
  a.created_at as "createdAt", a.failure
from all_jobs a
left join rowhouse.tenants t on t.id = a.tenant_id
where ($1::uuid is null or a.tenant_id = $1) and ($2::text is null or a.queue = $2) and ($3::text is null or a.type = $3)
  and ($4::text is null or a.state = $4)
order by a.created_at, a.id
limit $5;
