-- Begins an attempt to apply a migration ($2) to a target ($1), or goes on with one that stopped: one row, or none when it
-- is applied. The row is locked until the transaction ends, so no two can apply the same file, whatever happens to the lock.
--   $3 checksum   $4 statements done when the attempt is recorded
insert into rowhouse.migrations as m (target, id, checksum, state, statements_done)
values ($1, $2, $3, 'running', $4)
on conflict (target, id) do update
  set state = 'running', checksum = excluded.checksum, statements_done = excluded.statements_done,
    attempts = m.attempts + 1, error = null, started_at = pg_catalog.clock_timestamp()
  where m.state <> 'applied'
returning m.attempts;
