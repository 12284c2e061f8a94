-- The framework's functions are those of this release: enter(), current_tenant() and the look-ups are the wall's gate.
select
  '0031_framework_function' as rule,
  'error' as level,
  'rowhouse' as schema,
  coalesce(f.signature, released.signature) as object,
  pg_catalog.format(
    case
      when f.oid is null then 'The function rowhouse.%s is missing.'
      when released.signature is null then 'The function rowhouse.%s is not of this release (its fingerprint is %s).'
      else 'The function rowhouse.%s is not as it was released (its fingerprint is %s).'
    end,
    coalesce(f.signature, released.signature), f.fingerprint
  ) as detail,
  'Create it again as db/migrations has it. Functions of your own belong into another schema.' as remediation,
  pg_catalog.format('0031_framework_function:%s', coalesce(f.signature, released.signature)) as key
from (
  values
    ('claim_idempotency_key(text, bytea)', '46c26f6481c9'),
    ('current_tenant()', '3f5397a3f6f6'),
    ('enter(uuid, integer)', 'babcf822ee83'),
    ('find_api_key(text)', '089d76c9ef99'),
    ('find_tenant_by_domain(text)', 'e58bd9dfa88c'),
    ('find_tenant_by_id(uuid)', 'f732f9f7c09b'),
    ('find_tenant_by_slug(text)', '57f726ee122d'),
    ('missing_migrations(text[], text)', '52028ebe7c90'),
    ('store_idempotent_answer(text, bytea, smallint, jsonb, bytea)', '8c819b1ce7d1'),
    ('tenant_lock(uuid)', 'a678e3919cf8'),
    ('uuid_v7()', '25a0f70d6bf8')
) as released (signature, fingerprint)
full join (
  select oid, signature,
    -- Spaces differ between versions of the server.
    pg_catalog.left(pg_catalog.md5(pg_catalog.regexp_replace(pg_catalog.concat_ws(
      '|', language, is_definer, volatility, is_strict, is_leakproof, settings::text, body
    ), '\s+', ' ', 'g')), 12) as fingerprint
  from functions
  where schema = 'rowhouse'
) as f on f.signature = released.signature
where f.fingerprint is distinct from released.fingerprint
