-- Functions of the framework are changed, renamed, and added to.
-- fault
alter function rowhouse.enter(uuid, integer) security definer;
alter function rowhouse.find_tenant_by_slug(text) rename to find_tenant;
create function rowhouse.one() returns integer language sql return 1;
-- finding 0031_framework_function:enter(uuid, integer)
--   The function rowhouse.enter(uuid, integer) is not as it was released (its fingerprint is {{*}}).
-- finding 0031_framework_function:find_tenant(text)
--   The function rowhouse.find_tenant(text) is not of this release (its fingerprint is {{*}}).
-- finding 0031_framework_function:find_tenant_by_slug(text)
--   The function rowhouse.find_tenant_by_slug(text) is missing.
-- finding 0031_framework_function:one()
--   The function rowhouse.one() is not of this release (its fingerprint is {{*}}).
-- fix
alter function rowhouse.enter(uuid, integer) security invoker;
alter function rowhouse.find_tenant(text) rename to find_tenant_by_slug;
drop function rowhouse.one();
