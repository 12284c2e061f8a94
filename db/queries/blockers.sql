-- Whom a server process ($1) waits for.
select pg_catalog.format('server process %s (%s)', a.pid,
    pg_catalog.concat_ws(', ', a.usename, nullif(a.application_name, ''))) as who
from pg_catalog.pg_stat_activity a
where a.pid = any (pg_catalog.pg_blocking_pids($1))
order by a.pid;
