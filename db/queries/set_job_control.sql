-- Lays down what is to hold for jobs of a queue, a tenant, a type, or some of these together. What is null stays as it is; a limit
-- of -1 is lifted.
--   $1 text, $2 uuid, $3 text: queue, tenant, type; null for any   $4 boolean: paused
--   $5 integer, $6 integer: how many may run, together and of each tenant   $7 integer: weight
insert into rowhouse.job_controls as c (queue, tenant, type, is_paused, max_running, max_running_per_tenant, weight)
values ($1, $2, $3, coalesce($4, false), nullif($5::integer, -1), nullif($6::integer, -1), nullif($7::integer, -1))
on conflict (queue, tenant, type) do update set
  is_paused = coalesce($4, c.is_paused),
  max_running = case when $5 is null then c.max_running else nullif($5, -1) end,
  max_running_per_tenant = case when $6 is null then c.max_running_per_tenant else nullif($6, -1) end,
  weight = case when $7 is null then c.weight else nullif($7, -1) end;
