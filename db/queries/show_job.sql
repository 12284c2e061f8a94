-- One job, wherever it is: all that is known of it.
--   $1 uuid
select j.id, j.tenant_id as "tenantId", j.queue, j.type,
  case
    when exists (select from rowhouse.ready_jobs r where r.job_id = j.id) then 'ready'
    when exists (select from rowhouse.waiting_jobs w where w.tenant_id = j.tenant_id and w.job_id = j.id) then 'waiting'
    else 'running'
  end as state,
  j.priority, j.attempts, j.max_attempts as "maxAttempts", j.unique_key as "uniqueKey", j.payload, j.failures, j.created_at as "createdAt",
  j.run_at as "runAt", null::timestamptz as "endedAt"
from rowhouse.jobs j where j.id = $1
union all
select d.id, d.tenant_id, d.queue, d.type, 'dead', d.priority, d.attempts, d.max_attempts, d.unique_key, d.payload, d.failures, d.created_at,
  null, d.died_at
from rowhouse.dead_jobs d where d.id = $1
union all
select h.id, h.tenant_id, h.queue, h.type, h.outcome, null, h.attempts, null, null, null, '[]', h.created_at, h.started_at, h.finished_at
from rowhouse.job_history h where h.id = $1
limit 1;
