-- A rule does something else instead, with the owner's rights.
-- doctor: 0026_rewrite_rule
-- cross-tenant: lets another tenant's rows be deleted: public.customers
create rule other_orders as on delete to public.customers do instead delete from public.orders;
