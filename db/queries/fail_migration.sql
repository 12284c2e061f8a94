-- Records that an attempt to apply a migration ($2) to a target ($1) has failed.
--   $3 checksum of a file of which nothing was applied   $4 the error
insert into rowhouse.migrations as m (target, id, checksum, state, statements_done, error)
values ($1, $2, $3, 'failed', 0, $4)
on conflict (target, id) do update
  set state = 'failed', error = excluded.error,
    -- A file in one transaction took the line that began this attempt with it.
    attempts = m.attempts + case m.state when 'running' then 0 else 1 end
  where m.state <> 'applied';
