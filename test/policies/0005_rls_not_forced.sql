-- drizzle-kit enables row-level security and never forces it.
-- fault
alter table public.orders no force row level security;
-- finding 0005_rls_not_forced:public.orders
--   Row-level security is not forced on the tenant table public.orders.
-- fix
alter table public.orders force row level security;
