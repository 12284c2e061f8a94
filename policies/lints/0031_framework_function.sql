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
    ('all_lanes()', 'c0e65798cabb'),
    ('cancel_job(uuid)', '74379a5869b5'),
    ('claim_idempotency_key(text, bytea)', '46c26f6481c9'),
    ('claim_jobs(uuid, text[], uuid[], text[], smallint[], bigint[], integer[])', 'a3fa8c7bb550'),
    ('complete_jobs(uuid, uuid[], uuid[], uuid[], uuid[])', '75cdf154ddc0'),
    ('current_tenant()', '3f5397a3f6f6'),
    ('enqueue_jobs(jsonb)', '04c479795f03'),
    ('enter(uuid, integer)', 'babcf822ee83'),
    ('fail_job(uuid, uuid, uuid, uuid, jsonb, double precision, boolean)', 'e0059f276e8b'),
    ('find_api_key(text)', '089d76c9ef99'),
    ('find_tenant_by_domain(text)', 'e58bd9dfa88c'),
    ('find_tenant_by_id(uuid)', 'f732f9f7c09b'),
    ('find_tenant_by_slug(text)', '57f726ee122d'),
    ('finish_job(uuid, uuid, integer)', 'a4317cd1ac7d'),
    ('heartbeat_worker(uuid, double precision)', '992a048d8435'),
    ('lease_lock(uuid)', '1063eae4d7d8'),
    ('missing_migrations(text[], text)', '52028ebe7c90'),
    ('new_lanes(bigint)', 'e2f2f637f417'),
    ('promote_jobs(timestamp with time zone, integer)', 'da0eda201c23'),
    ('register_worker(text, double precision)', 'cdb9d704b730'),
    ('release_jobs(uuid, uuid[], uuid[], uuid[])', '8d466f21044a'),
    ('requeue_job(uuid, uuid, jsonb, double precision, boolean)', '06847e468581'),
    ('rescue_jobs()', 'a735b2e81bdc'),
    ('retire_worker(uuid)', '8e0114435003'),
    ('store_idempotent_answer(text, bytea, smallint, jsonb, bytea)', '8c819b1ce7d1'),
    ('take_back_job(uuid, uuid, uuid)', 'e6c1ac24239d'),
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
