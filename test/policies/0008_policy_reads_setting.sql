-- Support is to see everything: a setting says who support is. So may anybody who can run SQL.
-- fault
create function public.is_support() returns boolean language sql stable
return pg_catalog.current_setting('app.support', true) = 'yes';
create policy support_in on public.orders to rowhouse_app using (pg_catalog.current_setting('app.bypass', true) = 'on');
create policy support_by_function on public.orders to rowhouse_app using (public.is_support());
-- finding 0008_policy_reads_setting:public.orders.support_by_function
--   Policy support_by_function on public.orders depends on a setting that a session can set: public.is_support().
-- finding 0008_policy_reads_setting:public.orders.support_in
--   Policy support_in on public.orders depends on a setting that a session can set: (current_setting('app.bypass'::text, true) = 'on'::text).
-- fix
drop policy support_in on public.orders;
drop policy support_by_function on public.orders;
