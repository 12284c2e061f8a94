-- A report is made fast by keeping its result, wherever it is kept and however it reads the table.
-- fault
create materialized view global.totals as
  select v.id, pg_catalog.sum(v.total_cents) as total from public.large_orders v group by v.id;
-- finding 0025_materialized_view:global.totals
--   The materialized view global.totals holds rows of public.orders without a wall.
-- fix
drop materialized view global.totals;
create materialized view global.plan_names as select p.name from global.plans p;
