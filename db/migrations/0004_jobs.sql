-- The job queue. A job is born in the tenant's transaction (enqueue_jobs) and ends in it (finish_job), or is ended by the worker that
-- has claimed it. Nobody but rowhouse_queue's functions writes these tables, so that no code can forge a priority, an attempt or
-- another tenant's job.
--
--   jobs          every job that has not ended, once
--   ready_jobs    a narrow line for each job that may run now: claiming deletes it, and touches nothing else of the job
--   waiting_jobs  the same for each job that may run later
--   claims        what a worker holds; the lease is the secret without which a job cannot be ended
--   workers       who is alive
--   dead_jobs     jobs that have failed for good
--   job_history   jobs that have ended, in partitions that are dropped
--
-- A claim must not look through the remains of what was claimed before it, which a snapshot that somebody holds keeps in the table. So each
-- line in ready_jobs has a number that only grows, a claim begins where the worker knows that nothing is left before, and new lines
-- are found by their numbers (new_lanes), not by looking where there is work.

create table rowhouse.jobs (
  -- NOTE: no reference to rowhouse.tenants. Its check would lock the tenant's row in every enqueuing transaction; erasing a
  -- tenant removes its jobs.
  tenant_id uuid not null default rowhouse.current_tenant(),
  id uuid not null default rowhouse.uuid_v7(),
  type text not null check (type <> '' and pg_catalog.length(type) <= 200),
  queue text not null check (queue <> '' and pg_catalog.length(queue) <= 100),
  -- 0 runs first. It orders the jobs of one tenant; between tenants there is none.
  priority smallint not null check (priority between 0 and 3),
  payload jsonb not null,
  payload_version integer not null check (payload_version > 0),
  -- Attempts that have ended without success.
  attempts integer not null default 0 check (attempts >= 0),
  max_attempts integer not null check (max_attempts > 0),
  unique_key text check (pg_catalog.length(unique_key) between 1 and 500),
  run_at timestamptz not null,
  created_at timestamptz not null default pg_catalog.clock_timestamp(),
  -- The last failures, the newest last: {attempt, at, message, stack}.
  failures jsonb not null default '[]',
  primary key (tenant_id, id)
);
create unique index jobs_tenant_id_type_unique_key_idx on rowhouse.jobs (tenant_id, type, unique_key) where unique_key is not null;

create sequence rowhouse.ready_jobs_seq;

create table rowhouse.ready_jobs (
  seq bigint not null default pg_catalog.nextval('rowhouse.ready_jobs_seq'),
  queue text not null,
  tenant_id uuid not null default rowhouse.current_tenant(),
  type text not null,
  priority smallint not null,
  job_id uuid not null,
  primary key (seq)
);
-- A lane: jobs of one tenant, type and priority in one queue.
create index ready_jobs_lane_idx on rowhouse.ready_jobs (queue, tenant_id, type, priority, seq);

create table rowhouse.waiting_jobs (
  run_at timestamptz not null,
  tenant_id uuid not null default rowhouse.current_tenant(),
  job_id uuid not null,
  primary key (tenant_id, job_id)
);
create index waiting_jobs_run_at_idx on rowhouse.waiting_jobs (run_at);

create table rowhouse.workers (
  -- New at each start of a worker, and whenever it was taken for dead.
  id uuid primary key default pg_catalog.gen_random_uuid(),
  name text not null,
  started_at timestamptz not null default pg_catalog.clock_timestamp(),
  expires_at timestamptz not null
);

create table rowhouse.claims (
  lease uuid primary key default pg_catalog.gen_random_uuid(),
  worker_id uuid not null,
  job_ids uuid[] not null,
  tenant_ids uuid[] not null,
  claimed_at timestamptz not null default pg_catalog.clock_timestamp()
);

-- What an operator has laid down: for jobs of a queue, a tenant or a type, or of some of these together. Null means any.
create table rowhouse.job_controls (
  id uuid primary key default rowhouse.uuid_v7(),
  queue text check (queue <> ''),
  tenant uuid,
  type text check (type <> ''),
  is_paused boolean not null default false,
  -- Of all jobs that it is about together, and of each tenant's.
  max_running integer check (max_running >= 0),
  max_running_per_tenant integer check (max_running_per_tenant >= 0),
  -- How many turns the tenant gets for another's one.
  weight integer check (weight is null or weight between 1 and 100 and tenant is not null and queue is null and type is null),
  unique nulls not distinct (queue, tenant, type)
);

create table rowhouse.dead_jobs (
  tenant_id uuid not null default rowhouse.current_tenant(),
  id uuid not null,
  type text not null,
  queue text not null,
  priority smallint not null,
  payload jsonb not null,
  payload_version integer not null,
  attempts integer not null,
  max_attempts integer not null,
  unique_key text,
  created_at timestamptz not null,
  failures jsonb not null,
  died_at timestamptz not null default pg_catalog.clock_timestamp(),
  primary key (tenant_id, id)
);

create table rowhouse.job_history (
  tenant_id uuid not null default rowhouse.current_tenant(),
  id uuid not null,
  type text not null,
  queue text not null,
  attempts integer not null,
  outcome text not null check (outcome in ('done', 'cancelled', 'discarded')),
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz not null default pg_catalog.clock_timestamp(),
  primary key (tenant_id, id, finished_at)
) partition by range (finished_at);
-- What no day's partition takes: none should be needed, and none is lost.
create table rowhouse.job_history_rest partition of rowhouse.job_history default;

do $$
declare
  name text;
begin
  foreach name in array array['jobs', 'ready_jobs', 'waiting_jobs', 'workers', 'claims', 'job_controls', 'dead_jobs', 'job_history'] loop
    execute pg_catalog.format('alter table rowhouse.%I enable row level security', name);
    execute pg_catalog.format('alter table rowhouse.%I force row level security', name);
    execute pg_catalog.format('create policy owner_access on rowhouse.%I to rowhouse_owner using (true) with check (true)', name);
    execute pg_catalog.format('create policy queue_access on rowhouse.%I to rowhouse_queue using (true) with check (true)', name);
    execute pg_catalog.format('grant select, insert, update, delete on rowhouse.%I to rowhouse_queue', name);
  end loop;
  -- A tenant sees its own jobs.
  foreach name in array array['jobs', 'ready_jobs', 'waiting_jobs', 'dead_jobs', 'job_history'] loop
    execute pg_catalog.format(
      'create policy tenant_isolation on rowhouse.%I as restrictive to rowhouse_app, rowhouse_tenant
         using (tenant_id = (select rowhouse.current_tenant()))', name);
    execute pg_catalog.format(
      'create policy tenant_access on rowhouse.%I for select to rowhouse_app, rowhouse_tenant using (true)', name);
    execute pg_catalog.format('grant select on rowhouse.%I to rowhouse_app, rowhouse_tenant', name);
  end loop;
end
$$;
-- NOTE: nothing on workers and claims for the application: a lease is what only its worker knows.

-- Rows come and go all the time: what is gone is to be cleaned away soon.
alter table rowhouse.jobs set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_scale_factor = 0.2);
alter table rowhouse.ready_jobs set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
alter table rowhouse.waiting_jobs set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
alter table rowhouse.claims set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
alter table rowhouse.workers set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

grant usage on sequence rowhouse.ready_jobs_seq to rowhouse_queue;
grant select on sequence rowhouse.ready_jobs_seq to rowhouse_queue;
-- A suspended tenant's jobs wait.
create policy queue_access on rowhouse.tenants for select to rowhouse_queue using (true);
grant select on rowhouse.tenants to rowhouse_queue;
grant usage on schema rowhouse to rowhouse_queue;
grant execute on function rowhouse.current_tenant(), rowhouse.uuid_v7(), rowhouse.tenant_lock(uuid) to rowhouse_queue;

-- Functions of rowhouse_queue, through which alone the tables above are written.
grant create on schema rowhouse to rowhouse_queue;
set role rowhouse_queue;
-- The owner's default (0001_framework.sql) is not this role's.
alter default privileges revoke execute on functions from public;

-- Stands for a lease, as tenant_lock() does for a tenant: shared by whoever ends one of its jobs, exclusive for who takes them away.
create function rowhouse.lease_lock(lease uuid) returns bigint
language sql immutable strict parallel safe
return pg_catalog.uuid_hash_extended(lease, 7237);

-- Puts jobs into the queue, in the tenant's own transaction.
--   wanted  an array of {type, queue, priority, payload, version, max_attempts, run_at | delay_ms, unique_key}
-- One row for each, in order: its id, and false when it was there already under its unique key.
create function rowhouse.enqueue_jobs(wanted jsonb)
returns table (id uuid, is_new boolean)
language plpgsql volatile security definer set search_path = ''
as $$
declare
  tenant constant uuid := rowhouse.current_tenant();
  ids constant uuid[] := array(
    select rowhouse.uuid_v7() from pg_catalog.generate_series(1, pg_catalog.jsonb_array_length(wanted)));
  line record;
begin
  if tenant is null then
    raise exception 'a job belongs to a tenant, and none is set' using errcode = 'RH005';
  end if;
  -- Before a number is drawn: by the transaction's id others know that the number may still turn up.
  perform pg_catalog.pg_current_xact_id();
  for line in
    -- JSON's null comes out as SQL's.
    with wish as materialized (
      select ids[w.ordinality] as id, w.*, coalesce(w.payload, 'null') as content, coalesce(w.run_at, pg_catalog.clock_timestamp() + coalesce(w.delay_ms, 0) * interval '1 millisecond') as due_at,
        coalesce(w.run_at <= pg_catalog.clock_timestamp(), coalesce(w.delay_ms, 0) <= 0) as is_due
      from rows from (pg_catalog.jsonb_to_recordset(wanted) as (
        type text, queue text, priority smallint, payload jsonb, version integer, max_attempts integer, run_at timestamptz,
        delay_ms double precision, unique_key text)) with ordinality as w
    ),
    made as (
      insert into rowhouse.jobs as j (tenant_id, id, type, queue, priority, payload, payload_version, max_attempts, run_at, unique_key)
      select tenant, w.id, w.type, w.queue, w.priority, w.content, w.version, w.max_attempts, w.due_at, w.unique_key
      from wish w order by w.ordinality
      on conflict (tenant_id, type, unique_key) where unique_key is not null do nothing
      returning j.id
    ),
    ready as (
      insert into rowhouse.ready_jobs (queue, tenant_id, type, priority, job_id)
      select w.queue, tenant, w.type, w.priority, w.id from wish w join made m on m.id = w.id where w.is_due order by w.ordinality
    ),
    waiting as (
      insert into rowhouse.waiting_jobs (run_at, tenant_id, job_id)
      select w.due_at, tenant, w.id from wish w join made m on m.id = w.id where not w.is_due
    )
    select m.id, w.ordinality, w.type, w.unique_key from wish w left join made m on m.id = w.id order by w.ordinality
  loop
    id := line.id;
    is_new := id is not null;
    -- Somebody has it. A fresh snapshot sees whom we have waited for; should that job have ended meanwhile, this one is wanted after all.
    while id is null loop
      select j.id into id from rowhouse.jobs j
      where j.tenant_id = tenant and j.type = line.type and j.unique_key = line.unique_key;
      exit when id is not null;
      select e.id, e.is_new into id, is_new
      from rowhouse.enqueue_jobs(pg_catalog.jsonb_build_array(wanted -> (line.ordinality - 1)::integer)) e;
    end loop;
    return next;
  end loop;
end
$$;

-- Ends a job well, in the tenant's transaction in which its handler worked, so that both are committed or neither.
--   attempt  the number of this attempt, from 1
--   RH010 the lease is lost: somebody else has the job, or it was cancelled
create function rowhouse.finish_job(job uuid, lease uuid, attempt integer) returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
  ended rowhouse.jobs;
  claimed timestamptz;
begin
  -- Whoever takes the lease's jobs away waits for this transaction to end, or this one sees that they are gone.
  perform pg_catalog.pg_advisory_xact_lock_shared(rowhouse.lease_lock(finish_job.lease));
  select c.claimed_at into claimed from rowhouse.claims c where c.lease = finish_job.lease and job = any (c.job_ids);
  if claimed is not null then
    delete from rowhouse.jobs j
    where j.tenant_id = rowhouse.current_tenant() and j.id = job and j.attempts = attempt - 1
    returning j.* into ended;
  end if;
  if ended.id is null then
    raise exception 'the lease of job % is lost', job using errcode = 'RH010';
  end if;
  insert into rowhouse.job_history (tenant_id, id, type, queue, attempts, outcome, created_at, started_at)
  values (ended.tenant_id, ended.id, ended.type, ended.queue, attempt, 'done', ended.created_at, claimed);
end
$$;

-- Cancels a job of the tenant that has not ended: false when there is none. One that runs cannot end well any more.
create function rowhouse.cancel_job(job uuid) returns boolean
language plpgsql volatile security definer set search_path = ''
as $$
begin
  with gone as (
    delete from rowhouse.jobs j where j.tenant_id = rowhouse.current_tenant() and j.id = job returning j.*
  ),
  unwait as (
    delete from rowhouse.waiting_jobs w where w.tenant_id = rowhouse.current_tenant() and w.job_id = job
  )
  insert into rowhouse.job_history (tenant_id, id, type, queue, attempts, outcome, created_at)
  select g.tenant_id, g.id, g.type, g.queue, g.attempts, 'cancelled', g.created_at from gone g;
  return found;
end
$$;

-- The worker's functions. A worker is whoever sends a heartbeat in time; who does not is taken for dead, and its jobs go to others.

create function rowhouse.register_worker(name text, ttl_ms double precision) returns uuid
language sql volatile security definer set search_path = ''
begin atomic
  insert into rowhouse.workers (name, expires_at)
  values (register_worker.name, pg_catalog.clock_timestamp() + ttl_ms * interval '1 millisecond')
  returning id;
end;

-- False when the worker was taken for dead: nothing that it holds is its own any more.
create function rowhouse.heartbeat_worker(worker uuid, ttl_ms double precision) returns boolean
language plpgsql volatile security definer set search_path = ''
as $$
begin
  update rowhouse.workers w set expires_at = pg_catalog.clock_timestamp() + ttl_ms * interval '1 millisecond' where w.id = worker;
  return found;
end
$$;

-- The lanes with lines numbered above `after`, and where the numbers stand: all up to `last` were drawn by transactions older than
-- `fence`, so they are there, or never will be, once the oldest running transaction (`oldest`) is younger than that.
create function rowhouse.new_lanes(after bigint)
returns table (lanes jsonb, last bigint, fence text, oldest text)
language plpgsql volatile security definer rows 1 set search_path = ''
as $$
begin
  -- First the number and then an id of its own: whoever drew one up to this had an id by then (enqueue_jobs), a lower one. A
  -- snapshot's xmax would not do: it is the youngest transaction that has ended, and younger ones may be running.
  -- Of a sequence that has given no number yet, last_value is the first one that it will give.
  select s.last_value - case when s.is_called then 0 else 1 end into last from rowhouse.ready_jobs_seq s;
  fence := pg_catalog.pg_current_xact_id()::text;
  select
    (select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_array(g.queue, g.tenant_id, g.type, g.priority, g.first))
     from (
       select r.queue, r.tenant_id, r.type, r.priority, pg_catalog.min(r.seq) as first
       from rowhouse.ready_jobs r where r.seq > after
       group by r.queue, r.tenant_id, r.type, r.priority
     ) as g),
    pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())::text
  into lanes, oldest;
  return next;
end
$$;

-- Every lane with work, by skipping from one to the next in the index: for a worker's start, and now and then for what was overlooked.
create function rowhouse.all_lanes()
returns table (queue text, tenant_id uuid, type text, priority smallint, first bigint)
language sql volatile security definer set search_path = ''
begin atomic
  with recursive lane as (
    (select r.queue, r.tenant_id, r.type, r.priority, r.seq from rowhouse.ready_jobs r
     order by r.queue, r.tenant_id, r.type, r.priority, r.seq limit 1)
    union all
    select n.queue, n.tenant_id, n.type, n.priority, n.seq
    from lane l
    cross join lateral (
      select r.queue, r.tenant_id, r.type, r.priority, r.seq from rowhouse.ready_jobs r
      where (r.queue, r.tenant_id, r.type, r.priority) > (l.queue, l.tenant_id, l.type, l.priority)
      order by r.queue, r.tenant_id, r.type, r.priority, r.seq limit 1
    ) as n
  )
  select l.queue, l.tenant_id, l.type, l.priority, l.seq from lane l;
end;

-- How many jobs of each lane may be claimed, at most `quotas`, by what the operators have laid down. Exact: who claims under the same
-- limit waits until this transaction has ended. Only rowhouse_queue's own functions call it.
create function rowhouse.allowed_quotas(queues text[], tenants uuid[], types text[], quotas integer[]) returns integer[]
language plpgsql volatile security definer set search_path = ''
as $$
declare
  allowed integer[] := quotas;
  -- How many run, by the control's id, and by that and the tenant.
  used jsonb;
  line record;
  key text;
begin
  perform from rowhouse.job_controls c
  where coalesce(c.max_running, c.max_running_per_tenant) is not null
  order by c.id for update;
  with running as (
    select j.queue, j.tenant_id, j.type, count(*) as size
    from rowhouse.claims c
    cross join lateral rows from (pg_catalog.unnest(c.tenant_ids), pg_catalog.unnest(c.job_ids)) as h (tenant, job)
    join rowhouse.jobs j on j.tenant_id = h.tenant and j.id = h.job
    group by j.queue, j.tenant_id, j.type
  )
  select coalesce(pg_catalog.jsonb_object_agg(u.key, u.size), '{}') into used
  from (
    select c.id::text || coalesce('/' || r.tenant_id, '') as key, pg_catalog.sum(r.size) as size
    from rowhouse.job_controls c
    join running r on coalesce(c.queue, r.queue) = r.queue and coalesce(c.tenant, r.tenant_id) = r.tenant_id and coalesce(c.type, r.type) = r.type
    where coalesce(c.max_running, c.max_running_per_tenant) is not null
    group by grouping sets ((c.id), (c.id, r.tenant_id))
  ) as u;
  for line in
    select l.lane, l.tenant, c.id, c.is_paused, c.max_running, c.max_running_per_tenant,
      pg_catalog.row_number() over (partition by l.lane order by c.id desc) = 1 as is_last
    from rows from (pg_catalog.unnest(queues), pg_catalog.unnest(tenants), pg_catalog.unnest(types)) with ordinality as l (queue, tenant, type, lane)
    join rowhouse.job_controls c
      on coalesce(c.queue, l.queue) = l.queue and coalesce(c.tenant, l.tenant) = l.tenant and coalesce(c.type, l.type) = l.type
    order by l.lane, c.id
  loop
    allowed[line.lane] := greatest(0, least(
      allowed[line.lane],
      case when line.is_paused then 0 end,
      line.max_running - coalesce((used ->> line.id::text)::integer, 0),
      line.max_running_per_tenant - coalesce((used ->> (line.id || '/' || line.tenant))::integer, 0)
    ));
    -- What this lane may take, the next ones may not: of every control that it is under.
    if line.is_last then
      for key in
        select k.key from rowhouse.job_controls c
        cross join lateral (values (c.id::text), (c.id || '/' || line.tenant)) as k (key)
        where coalesce(c.queue, queues[line.lane]) = queues[line.lane] and coalesce(c.tenant, line.tenant) = line.tenant
          and coalesce(c.type, types[line.lane]) = types[line.lane] and coalesce(c.max_running, c.max_running_per_tenant) is not null
      loop
        used := used || pg_catalog.jsonb_build_object(key, coalesce((used ->> key)::integer, 0) + allowed[line.lane]);
      end loop;
    end if;
  end loop;
  return allowed;
end
$$;

-- Tenants that get more turns than one.
create function rowhouse.tenant_weights() returns table (tenant uuid, weight integer)
language sql stable security definer set search_path = ''
begin atomic
  select c.tenant, c.weight from rowhouse.job_controls c where c.weight is not null;
end;

-- A generic plan: a new one for every set of arrays would cost more than the claim.
-- Claims jobs of these lanes, each from the number after which the worker looks for its work, at most `quotas` of each.
--   RH011 the worker was taken for dead
create function rowhouse.claim_jobs(
  worker uuid, queues text[], tenants uuid[], types text[], priorities smallint[], afters bigint[], quotas integer[]
)
returns table (
  lane integer, seq bigint, lease uuid, id uuid, tenant_id uuid, type text, queue text, payload jsonb, payload_version integer, attempts integer,
  max_attempts integer, placement text, epoch integer
)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  new_lease constant uuid := pg_catalog.gen_random_uuid();
begin
  -- Held to the end: who takes the worker for dead finds this claim as well.
  perform from rowhouse.workers w where w.id = worker for key share;
  if not found then
    raise exception 'worker % was taken for dead', worker using errcode = 'RH011';
  end if;
  if exists (select from rowhouse.job_controls) then
    quotas := rowhouse.allowed_quotas(queues, tenants, types, quotas);
  end if;
  return query
    with picked as materialized (
      select l.lane::integer as lane, p.seq, p.job_id, t.id as tenant_id, t.placement, t.epoch
      from rows from (
        pg_catalog.unnest(queues), pg_catalog.unnest(tenants), pg_catalog.unnest(types), pg_catalog.unnest(priorities),
        pg_catalog.unnest(afters), pg_catalog.unnest(quotas)
      ) with ordinality as l (queue, tenant, type, priority, after, quota, lane)
      join rowhouse.tenants t on t.id = l.tenant and t.status = 'active'
      cross join lateral (
        select r.seq, r.job_id from rowhouse.ready_jobs r
        where r.queue = l.queue and r.tenant_id = l.tenant and r.type = l.type and r.priority = l.priority and r.seq > l.after
        order by r.seq limit l.quota
        for update skip locked
      ) as p
    ),
    gone as (
      delete from rowhouse.ready_jobs r using picked p where r.seq = p.seq
    ),
    claimed as (
      insert into rowhouse.claims (lease, worker_id, job_ids, tenant_ids)
      select new_lease, worker, pg_catalog.array_agg(p.job_id), pg_catalog.array_agg(p.tenant_id) from picked p having count(*) > 0
    )
    -- A job that was cancelled has left its line behind: it goes with the others.
    select p.lane, p.seq, new_lease, j.id, j.tenant_id, j.type, j.queue, j.payload, j.payload_version, j.attempts, j.max_attempts,
      p.placement, p.epoch
    from picked p
    join rowhouse.jobs j on j.tenant_id = p.tenant_id and j.id = p.job_id
    order by p.lane, p.seq;
end
$$;

-- Ends jobs well whose handlers opened no transaction. Returns how many were still held; `closed` are leases of which nothing is left.
create function rowhouse.complete_jobs(worker uuid, leases uuid[], tenants uuid[], ids uuid[], closed uuid[])
returns integer
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
as $$
declare
  completed integer;
begin
  perform pg_catalog.pg_advisory_xact_lock_shared(rowhouse.lease_lock(l.lease))
  from (select distinct u.lease from pg_catalog.unnest(leases) as u (lease) order by 1) as l;
  with ended as (
      select e.id, e.tenant, c.claimed_at
      from rows from (pg_catalog.unnest(leases), pg_catalog.unnest(tenants), pg_catalog.unnest(ids)) as e (lease, tenant, id)
      -- The lease is enough: what the worker itself has given back it does not end, and a rescue removes the whole lease.
      join rowhouse.claims c on c.lease = e.lease and c.worker_id = worker
    ),
    gone as (
      delete from rowhouse.jobs j using ended e where j.tenant_id = e.tenant and j.id = e.id
      returning j.tenant_id, j.id, j.type, j.queue, j.attempts, j.created_at, e.claimed_at
    )
    insert into rowhouse.job_history (tenant_id, id, type, queue, attempts, outcome, created_at, started_at)
    select g.tenant_id, g.id, g.type, g.queue, g.attempts + 1, 'done', g.created_at, g.claimed_at from gone g;
  get diagnostics completed = row_count;
  delete from rowhouse.claims c where c.lease = any (closed) and c.worker_id = worker;
  return completed;
end
$$;

-- Takes a job back from its lease. Only rowhouse_queue's own functions call it.
--   false when the lease is lost, or the job has ended
create function rowhouse.take_back_job(worker uuid, lease uuid, job uuid) returns boolean
language plpgsql volatile security definer set search_path = ''
as $$
begin
  perform pg_catalog.pg_advisory_xact_lock_shared(rowhouse.lease_lock(take_back_job.lease));
  -- Replaced and not removed: the two arrays are read in step.
  update rowhouse.claims c set job_ids = pg_catalog.array_replace(c.job_ids, job, null)
  where c.lease = take_back_job.lease and c.worker_id = worker and job = any (c.job_ids);
  return found;
end
$$;

-- Puts a job that nobody holds into the queue again, or among the dead. `failure` counts as an attempt; null does not.
create function rowhouse.requeue_job(tenant uuid, job uuid, failure jsonb, delay_ms double precision, is_final boolean) returns text
language plpgsql volatile security definer set search_path = ''
as $$
declare
  now constant timestamptz := pg_catalog.clock_timestamp();
  line rowhouse.jobs;
begin
  update rowhouse.jobs j
  set attempts = j.attempts + case when failure is null then 0 else 1 end,
    run_at = case when delay_ms > 0 then now + delay_ms * interval '1 millisecond' else j.run_at end,
    failures = case when failure is null then j.failures else
      case when pg_catalog.jsonb_array_length(j.failures) >= 10 then j.failures - 0 else j.failures end
      || pg_catalog.jsonb_build_array(failure || pg_catalog.jsonb_build_object('attempt', j.attempts + 1, 'at', now)) end
  where j.tenant_id = tenant and j.id = job
  returning j.* into line;
  if not found then
    return 'gone';
  elsif failure is not null and (is_final or line.attempts >= line.max_attempts) then
    delete from rowhouse.jobs j where j.tenant_id = tenant and j.id = job;
    insert into rowhouse.dead_jobs
      (tenant_id, id, type, queue, priority, payload, payload_version, attempts, max_attempts, unique_key, created_at, failures)
    values (line.tenant_id, line.id, line.type, line.queue, line.priority, line.payload, line.payload_version, line.attempts,
      line.max_attempts, line.unique_key, line.created_at, line.failures);
    return 'dead';
  elsif delay_ms > 0 then
    insert into rowhouse.waiting_jobs (run_at, tenant_id, job_id) values (line.run_at, tenant, job);
    return 'waiting';
  end if;
  perform pg_catalog.pg_current_xact_id();
  insert into rowhouse.ready_jobs (queue, tenant_id, type, priority, job_id)
  values (line.queue, tenant, line.type, line.priority, job);
  return 'ready';
end
$$;

-- What became of a job that did not end well: 'ready', 'waiting', 'dead', or 'lost' when it is not the worker's any more.
create function rowhouse.fail_job(
  worker uuid, lease uuid, tenant uuid, job uuid, failure jsonb, delay_ms double precision, is_final boolean
) returns text
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if not rowhouse.take_back_job(worker, lease, job) then
    return 'lost';
  end if;
  return rowhouse.requeue_job(tenant, job, failure, delay_ms, is_final);
end
$$;

-- Gives jobs back that were claimed and have not been begun, or were interrupted: no attempt is counted.
create function rowhouse.release_jobs(worker uuid, leases uuid[], tenants uuid[], ids uuid[]) returns integer
language plpgsql volatile security definer set search_path = ''
as $$
declare
  released integer := 0;
  one record;
begin
  for one in
    select * from rows from (pg_catalog.unnest(leases), pg_catalog.unnest(tenants), pg_catalog.unnest(ids)) as r (lease, tenant, id)
  loop
    if rowhouse.take_back_job(worker, one.lease, one.id) and rowhouse.requeue_job(one.tenant, one.id, null, 0, false) = 'ready' then
      released := released + 1;
    end if;
  end loop;
  return released;
end
$$;

-- Gives back what the worker was never told that it had claimed, when the answer was lost: everything but the leases that it knows.
create function rowhouse.release_unknown_claims(worker uuid, known uuid[]) returns integer
language plpgsql volatile security definer set search_path = ''
as $$
declare
  released integer := 0;
  one record;
begin
  for one in
    select c.lease, h.tenant, h.job
    from rowhouse.claims c
    cross join lateral rows from (pg_catalog.unnest(c.tenant_ids), pg_catalog.unnest(c.job_ids)) as h (tenant, job)
    where c.worker_id = worker and c.lease <> all (known) and h.job is not null
  loop
    if rowhouse.take_back_job(worker, one.lease, one.job) and rowhouse.requeue_job(one.tenant, one.job, null, 0, false) = 'ready' then
      released := released + 1;
    end if;
  end loop;
  delete from rowhouse.claims c where c.worker_id = worker and c.lease <> all (known);
  return released;
end
$$;

-- Ends a worker: what it still holds is taken from it by the next rescue.
create function rowhouse.retire_worker(worker uuid) returns void
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if exists (
    select from rowhouse.claims c
    cross join lateral rows from (pg_catalog.unnest(c.tenant_ids), pg_catalog.unnest(c.job_ids)) as h (tenant, job)
    join rowhouse.jobs j on j.tenant_id = h.tenant and j.id = h.job
    where c.worker_id = worker
  ) then
    update rowhouse.workers w set expires_at = pg_catalog.clock_timestamp() where w.id = worker;
  else
    delete from rowhouse.claims c where c.worker_id = worker;
    delete from rowhouse.workers w where w.id = worker;
  end if;
end
$$;

-- Takes from dead workers what they held: an attempt each, since a job may be what killed its worker. Returns how many.
create function rowhouse.rescue_jobs() returns integer
language plpgsql volatile security definer set search_path = ''
as $$
declare
  rescued integer := 0;
  dead record;
  held record;
  one record;
  is_left boolean;
begin
  for dead in
    select w.id, w.name from rowhouse.workers w where w.expires_at < pg_catalog.clock_timestamp()
    order by w.expires_at for update skip locked
  loop
    is_left := false;
    for held in select c.lease from rowhouse.claims c where c.worker_id = dead.id loop
      -- Somebody is about to commit the end of one of its jobs: next time.
      if not pg_catalog.pg_try_advisory_xact_lock(rowhouse.lease_lock(held.lease)) then
        is_left := true;
        continue;
      end if;
      for one in
        select h.tenant, h.job, j.attempts
        from rowhouse.claims c
        cross join lateral rows from (pg_catalog.unnest(c.tenant_ids), pg_catalog.unnest(c.job_ids)) as h (tenant, job)
        join rowhouse.jobs j on j.tenant_id = h.tenant and j.id = h.job
        where c.lease = held.lease
      loop
        perform rowhouse.requeue_job(
          one.tenant, one.job, pg_catalog.jsonb_build_object('message', pg_catalog.format('its worker %s died', dead.name)),
          least(1000 * 2 ^ one.attempts, 3600000), false);
        rescued := rescued + 1;
      end loop;
      delete from rowhouse.claims c where c.lease = held.lease;
    end loop;
    if not is_left then
      delete from rowhouse.workers w where w.id = dead.id;
    end if;
  end loop;
  return rescued;
end
$$;

-- Makes waiting jobs ready whose time has come. Says up to when it has looked, and how long it is to the next one's time, in
-- milliseconds; null when none waits.
--   after  up to when the last look went: before, nothing is left but what was enqueued by a transaction that took its time
create function rowhouse.promote_jobs(after timestamptz, max integer)
returns table (promoted integer, up_to timestamptz, next_ms double precision)
language plpgsql volatile security definer rows 1 set search_path = ''
as $$
declare
  since constant timestamptz := after - interval '1 minute';
begin
  up_to := pg_catalog.clock_timestamp();
  perform pg_catalog.pg_current_xact_id();
  with due as materialized (
    select w.tenant_id, w.job_id from rowhouse.waiting_jobs w
    where w.run_at > since and w.run_at <= pg_catalog.clock_timestamp()
    order by w.run_at limit max for update skip locked
  ),
  gone as (
    delete from rowhouse.waiting_jobs w using due d where w.tenant_id = d.tenant_id and w.job_id = d.job_id
  )
  insert into rowhouse.ready_jobs (queue, tenant_id, type, priority, job_id)
  select j.queue, j.tenant_id, j.type, j.priority, j.id
  from due d join rowhouse.jobs j on j.tenant_id = d.tenant_id and j.id = d.job_id;
  get diagnostics promoted = row_count;
  select extract(epoch from pg_catalog.min(w.run_at) - pg_catalog.clock_timestamp())::double precision * 1000 into next_ms
  from rowhouse.waiting_jobs w where w.run_at > since;
  return next;
end
$$;

grant execute on function
  rowhouse.enqueue_jobs(jsonb), rowhouse.finish_job(uuid, uuid, integer), rowhouse.cancel_job(uuid)
  to rowhouse_app, rowhouse_tenant;
grant execute on function
  rowhouse.register_worker(text, double precision), rowhouse.heartbeat_worker(uuid, double precision),
  rowhouse.new_lanes(bigint), rowhouse.all_lanes(), rowhouse.tenant_weights(),
  rowhouse.claim_jobs(uuid, text[], uuid[], text[], smallint[], bigint[], integer[]),
  rowhouse.complete_jobs(uuid, uuid[], uuid[], uuid[], uuid[]),
  rowhouse.fail_job(uuid, uuid, uuid, uuid, jsonb, double precision, boolean),
  rowhouse.release_jobs(uuid, uuid[], uuid[], uuid[]), rowhouse.release_unknown_claims(uuid, uuid[]), rowhouse.retire_worker(uuid), rowhouse.rescue_jobs(),
  rowhouse.promote_jobs(timestamptz, integer)
  to rowhouse_worker;
reset role;
revoke create on schema rowhouse from rowhouse_queue;
