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
    ('all_lanes()', 'fe6eca2e9cb7'),
    ('allowed_quotas(text[], uuid[], text[], integer[])', 'ca057ab83973'),
    ('cancel_job(uuid)', '2b2780eed60a'),
    ('claim_idempotency_key(text, bytea)', 'ea4f004b3fc0'),
    ('claim_jobs(uuid, text[], uuid[], text[], smallint[], bigint[], integer[])', '1bcda85207cd'),
    ('complete_jobs(uuid, uuid[], uuid[], uuid[], uuid[])', '3582168cb0ae'),
    ('current_tenant()', '9d423ba93cd4'),
    ('enqueue_jobs(jsonb)', 'f7deb2a329df'),
    ('enter(uuid, integer)', 'de004b1ed841'),
    ('fail_job(uuid, uuid, uuid, uuid, jsonb, double precision, boolean)', '70855e87de7f'),
    ('find_api_key(text)', '276019a78294'),
    ('find_tenant_by_domain(text)', '9b32384c6289'),
    ('find_tenant_by_id(uuid)', '11506fc936a5'),
    ('find_tenant_by_slug(text)', '2d1ba0ec8633'),
    ('finish_job(uuid, uuid, integer)', '29f2197b9e18'),
    ('heartbeat_worker(uuid, double precision)', 'b29d9fcb56fa'),
    ('lease_lock(uuid)', '5e09b23b52e9'),
    ('missing_migrations(text[], text)', '3687c71a9fb1'),
    ('new_lanes(bigint)', '779a5ce2b426'),
    ('promote_jobs(timestamp with time zone, integer)', '039778e58d88'),
    ('register_worker(text, double precision)', 'b9937e92cf0a'),
    ('release_jobs(uuid, uuid[], uuid[], uuid[])', 'f4a4b53ce44b'),
    ('release_unknown_claims(uuid, uuid[])', '1d508310e284'),
    ('requeue_job(uuid, uuid, jsonb, double precision, boolean)', 'dee7a5619e59'),
    ('rescue_jobs()', '5537f3824e82'),
    ('retire_worker(uuid)', '5c9d3aaeb1be'),
    ('store_idempotent_answer(text, bytea, smallint, jsonb, bytea)', 'de4519aa3507'),
    ('take_back_job(uuid, uuid, uuid)', 'd53e1c66e645'),
    ('tenant_lock(uuid)', 'b8122affbeca'),
    ('tenant_weights()', '6246eebc9be4'),
    ('uuid_v7()', '07e333facaba')
) as released (signature, fingerprint)
full join (
  select oid, signature,
    -- Spaces differ between versions of the server.
    pg_catalog.left(pg_catalog.md5(pg_catalog.regexp_replace(pg_catalog.concat_ws(
      '|', language, is_definer, volatility, is_strict, is_leakproof, settings::text, body, reach
    ), '\s+', ' ', 'g')), 12) as fingerprint
  from functions
  -- Whose rights it has, and who may call it. What a role is called depends on the installation.
  cross join lateral (
    select pg_catalog.string_agg(
      case
        when a.grantee = 0 then 'PUBLIC'
        else coalesce((
          select k.kind from (values
            ('rowhouse_owner', 'owner'), ('rowhouse_app', 'app'), ('rowhouse_worker', 'worker'), ('rowhouse_queue', 'queue'),
            ('rowhouse_tenant', 'tenant')) as k (name, kind)
          where k.name = pg_catalog.pg_get_userbyid(a.grantee)
        ), 'somebody else')
      end || case when a.grantee = owner then '!' else '' end, ' ' order by a.grantee = owner, pg_catalog.pg_get_userbyid(a.grantee)) as reach
    from pg_catalog.aclexplode(acl) as a
    where a.privilege_type = 'EXECUTE'
  ) as callers
  where schema = 'rowhouse'
) as f on f.signature = released.signature
where f.fingerprint is distinct from released.fingerprint
