-- A LEAKPROOF function may be run on rows before the policies have judged them.
select
  '0030_leakproof_function' as rule,
  'warning' as level,
  f.schema,
  f.signature as object,
  pg_catalog.format('The function %I.%s is LEAKPROOF: it sees rows of all tenants.', f.schema, f.signature) as detail,
  pg_catalog.format('Run `alter function %I.%s not leakproof`, unless it can neither raise nor store what it sees.',
    f.schema, f.signature) as remediation,
  pg_catalog.format('0030_leakproof_function:%s.%s', f.schema, f.signature) as key
from functions f
where f.is_leakproof
