-- The planner computes an IMMUTABLE function once and keeps the answer: a prepared statement would stay with its first
-- tenant.
select
  '0029_immutable_setting' as rule,
  'error' as level,
  f.schema,
  f.signature as object,
  pg_catalog.format('The function %I.%s is IMMUTABLE and reads a setting.', f.schema, f.signature) as detail,
  pg_catalog.format('Run `alter function %I.%s stable`.', f.schema, f.signature) as remediation,
  pg_catalog.format('0029_immutable_setting:%s.%s', f.schema, f.signature) as key
from functions f
where f.volatility = 'i' and f.body ~ 'current_setting|current_tenant'
