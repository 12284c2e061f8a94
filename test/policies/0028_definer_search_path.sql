-- SECURITY DEFINER without a search_path, and by the hand of a superuser.
-- fault
create function public.f() returns integer language sql security definer return 1;
reset role;
create function public.g() returns integer language sql security definer set search_path = '' return 1;
revoke execute on function public.g() from public;
alter function public.g() owner to rowhouse_owner;
create role rowhouse_passes bypassrls;
alter function public.g() owner to rowhouse_passes;
-- finding 0028_definer_search_path:public.f()
--   The SECURITY DEFINER function public.f() has no search_path of its own.
-- finding 0028_definer_search_path:public.g()
--   The SECURITY DEFINER function public.g() belongs to a BYPASSRLS role.
-- fix
reset role;
alter function public.f() set search_path = '';
alter function public.g() owner to rowhouse_owner;
