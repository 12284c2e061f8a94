-- A rule copies what is inserted, as the table's owner.
-- fault
create rule copy_order as on insert to public.orders do also
  insert into public.visits (tenant_id) select c.tenant_id from public.customers c;
-- finding 0026_rewrite_rule:public.orders.copy_order
--   Rule copy_order on public.orders acts with its owner's rights, not with the caller's.
-- fix
drop rule copy_order on public.orders;
