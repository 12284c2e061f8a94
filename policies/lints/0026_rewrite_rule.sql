-- What a rule does, it does with the rights of the table's owner, who sees every tenant's rows.
select
  '0026_rewrite_rule' as rule,
  'error' as level,
  r.schema,
  r.name as object,
  pg_catalog.format('Rule %I on %s acts with its owner''s rights, not with the caller''s.', w.rulename, r.label) as detail,
  'Use a trigger, which acts with the caller''s rights.' as remediation,
  pg_catalog.format('0026_rewrite_rule:%s.%s.%s', r.schema, r.name, w.rulename) as key
from relations r
join pg_catalog.pg_rewrite w on w.ev_class = r.oid
where w.rulename <> '_RETURN'
