-- A partition is added, with the grants of its table copied.
-- fault
create table public.visits_1999 partition of public.visits for values from ('1999-01-01') to ('2000-01-01');
grant select, insert on public.visits_1999 to rowhouse_app;
-- finding 0015_partition_grant:public.visits_1999:rowhouse_app
--   rowhouse_app holds INSERT, SELECT on public.visits_1999, which is a partition: queries by its own name pass the wall.
-- fix
revoke all on public.visits_1999 from rowhouse_app;
