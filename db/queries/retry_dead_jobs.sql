-- Brings dead jobs back, with all their attempts before them. One whose unique key another job has by now stays dead.
--   $1 uuid[]: these; null for all   $2 uuid, $3 text, $4 text: of this tenant, queue, type; null for any
with wanted as (
  select d.* from rowhouse.dead_jobs d
  where ($1::uuid[] is null or d.id = any ($1)) and ($2::uuid is null or d.tenant_id = $2)
    and ($3::text is null or d.queue = $3) and ($4::text is null or d.type = $4)
  for update skip locked
),
made as (
  insert into rowhouse.jobs as j
    (tenant_id, id, type, queue, priority, payload, payload_version, max_attempts, unique_key, run_at, created_at, failures)
  select w.tenant_id, w.id, w.type, w.queue, w.priority, w.payload, w.payload_version, w.max_attempts, w.unique_key,
    pg_catalog.clock_timestamp(), w.created_at, w.failures
  from wanted w
  on conflict (tenant_id, type, unique_key) where unique_key is not null do nothing
  returning j.tenant_id, j.id, j.queue, j.type, j.priority
),
ready as (
  insert into rowhouse.ready_jobs (queue, tenant_id, type, priority, job_id)
  select m.queue, m.tenant_id, m.type, m.priority, m.id from made m
)
delete from rowhouse.dead_jobs d using made m where d.tenant_id = m.tenant_id and d.id = m.id
returning d.id;
