-- Cancels jobs that have not ended. One that runs cannot end well any more.
--   $1 uuid[]
with gone as (
  delete from rowhouse.jobs j where j.id = any ($1::uuid[]) returning j.*
),
unwait as (
  delete from rowhouse.waiting_jobs w using gone g where w.tenant_id = g.tenant_id and w.job_id = g.id
)
insert into rowhouse.job_history as h (tenant_id, id, type, queue, attempts, outcome, created_at)
select g.tenant_id, g.id, g.type, g.queue, g.attempts, 'cancelled', g.created_at from gone g
returning h.id;
