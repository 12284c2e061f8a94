-- A tenant that is set for a role, a database or the server is there before anybody has entered.
select
  '0012_preset_tenant' as rule,
  'error' as level,
  null as schema,
  preset.place as object,
  pg_catalog.format('%s presets %s.', preset.place, preset.setting) as detail,
  'Take it back with `alter role … reset` or `alter database … reset`, or out of postgresql.conf.' as remediation,
  pg_catalog.format('0012_preset_tenant:%s:%s', preset.place, preset.setting) as key
from (
  select pg_catalog.split_part(setting, '=', 1) as setting,
    pg_catalog.concat_ws(' in ', 'role ' || r.rolname, 'database ' || d.datname) as place
  from pg_catalog.pg_db_role_setting s
  cross join pg_catalog.unnest(s.setconfig) as setting
  left join pg_catalog.pg_roles r on r.oid = s.setrole
  left join pg_catalog.pg_database d on d.oid = s.setdatabase
  where (s.setdatabase = 0 or d.datname = pg_catalog.current_database())
    -- role: the session would begin as someone else.
    and setting ~* '^(app\.tenant_id|role)='
  union all
  select 'app.tenant_id', 'this session'
  where pg_catalog.current_setting('app.tenant_id', true) <> ''
) as preset
