-- The application may refer to a table from its own, and hang triggers on it.
-- doctor: 0013_table_grant
grant references, trigger on public.orders to rowhouse_app;
