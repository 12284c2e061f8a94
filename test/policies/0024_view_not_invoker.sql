-- A view as everybody writes it.
-- fault
create view public.all_orders as select o.id, o.total_cents from public.orders o;
-- finding 0024_view_not_invoker:public.all_orders
--   The view public.all_orders reads with its owner's rights, not with the caller's.
-- fix
alter view public.all_orders set (security_invoker = on);
