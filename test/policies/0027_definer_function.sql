-- A function that helps itself to the owner's view of the table, and one that a trigger runs.
-- fault
create function public.count_orders() returns bigint language sql stable security definer set search_path = ''
return (select pg_catalog.count(*) from public.orders);
grant execute on function public.count_orders() to rowhouse_app;
create function public.tg_orders__log() returns trigger language plpgsql security definer set search_path = ''
as 'begin return new; end';
create trigger _100_log before insert on public.orders for each row execute function public.tg_orders__log();
-- finding 0027_definer_function:public.count_orders():{{*}}
--   rowhouse_app can run public.count_orders() with the rights of "rowhouse_owner".
-- finding 0027_definer_function:public.tg_orders__log():ab85485bcc84
--   a trigger on public.orders can run public.tg_orders__log() with the rights of "rowhouse_owner".
-- fix
revoke execute on function public.count_orders() from rowhouse_app;
alter function public.tg_orders__log() security invoker;
