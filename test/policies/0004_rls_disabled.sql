-- Row-level security is switched off for a backfill, and stays off.
-- fault
alter table public.orders disable row level security;
-- finding 0004_rls_disabled:public.orders
--   Row-level security is off on the tenant table public.orders.
-- fix
alter table public.orders enable row level security;
