-- Removes dead jobs for good; the history says that there were.
--   $1 uuid[]: these; null for all   $2 uuid, $3 text, $4 text: of this tenant, queue, type; null for any
with gone as (
  delete from rowhouse.dead_jobs d
  where ($1::uuid[] is null or d.id = any ($1)) and ($2::uuid is null or d.tenant_id = $2)
    and ($3::text is null or d.queue = $3) and ($4::text is null or d.type = $4)
  returning d.*
)
insert into rowhouse.job_history as h (tenant_id, id, type, queue, attempts, outcome, created_at)
select g.tenant_id, g.id, g.type, g.queue, g.attempts, 'discarded', g.created_at from gone g
returning h.id;
