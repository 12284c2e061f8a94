-- Without a search_path of its own a SECURITY DEFINER function looks names up where its caller says; and one that a
-- superuser or a BYPASSRLS role owns is held to no policy.
select
  '0028_definer_search_path' as rule,
  'error' as level,
  f.schema,
  f.signature as object,
  pg_catalog.format('The SECURITY DEFINER function %I.%s %s.', f.schema, f.signature, problems) as detail,
  'Set it (`set search_path = ''''`) and qualify every name; give the function to rowhouse_owner.' as remediation,
  pg_catalog.format('0028_definer_search_path:%s.%s', f.schema, f.signature) as key
from functions f
join pg_catalog.pg_roles owner on owner.oid = f.owner
cross join lateral pg_catalog.concat_ws(
  ', ',
  case when not exists (select from pg_catalog.unnest(f.settings) as setting where setting like 'search\_path=%')
    then 'has no search_path of its own' end,
  case when owner.rolsuper then 'belongs to a superuser' when owner.rolbypassrls then 'belongs to a BYPASSRLS role' end
) as problems
where f.is_definer and problems <> ''
