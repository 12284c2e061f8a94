-- TRUNCATE asks no policy.
-- doctor: 0013_table_grant
-- cross-tenant: can be truncated: public.visits
grant truncate on public.visits to rowhouse_app;
