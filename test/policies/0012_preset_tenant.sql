-- A developer presets the tenant for convenience.
-- fault
reset role;
alter role rowhouse_app set app.tenant_id = '00000000-0000-0000-0000-000000000001';
alter role rowhouse_worker set role = 'rowhouse_worker';
-- finding 0012_preset_tenant:role rowhouse_app:app.tenant_id
--   role rowhouse_app presets app.tenant_id.
-- finding 0012_preset_tenant:role rowhouse_worker:role
--   role rowhouse_worker presets role.
-- fix
reset role;
alter role rowhouse_app reset app.tenant_id;
alter role rowhouse_worker reset role;

-- The session itself has one.
-- fault
set local app.tenant_id = '00000000-0000-0000-0000-000000000001';
-- finding 0012_preset_tenant:this session:app.tenant_id
--   this session presets app.tenant_id.
-- fix
set local app.tenant_id = '';
