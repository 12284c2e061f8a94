-- IMMUTABLE, because then it may be used in an index.
-- fault
create function public.my_tenant() returns uuid language plpgsql immutable
as 'begin return pg_catalog.current_setting(''app.tenant_id''); end';
-- finding 0029_immutable_setting:public.my_tenant()
--   The function public.my_tenant() is IMMUTABLE and reads a setting.
-- fix
alter function public.my_tenant() stable;
