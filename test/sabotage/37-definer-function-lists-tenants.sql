-- A function of the owner's lists all customers.
-- doctor: 0027_definer_function
-- cross-tenant: tells of another tenant: public.list_tenants()
create function public.list_tenants() returns table (id uuid, slug text)
language sql stable security definer set search_path = ''
begin atomic
  select t.id, t.slug from rowhouse.tenants t;
end;
grant execute on function public.list_tenants() to rowhouse_app;
