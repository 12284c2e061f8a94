-- The framework's schema: tenants, the tenant transaction's functions, domains and API keys. Runs as rowhouse_owner.

create schema if not exists global;
create schema if not exists extensions;

-- What is not granted below is not granted: PUBLIC may not execute what the owner creates.
alter default privileges revoke execute on functions from public;

grant usage on schema rowhouse to rowhouse_app, rowhouse_worker, rowhouse_tenant;
grant usage on schema global to rowhouse_app, rowhouse_worker, rowhouse_tenant;
grant usage on schema extensions to rowhouse_app, rowhouse_worker, rowhouse_tenant;

-- UUID version 7 (RFC 9562, section 5.7) with the sub-millisecond fraction of section 6.2, method 3: 48 bits of
-- milliseconds, the version, 12 bits of their fraction, and 62 random bits behind the variant of a version 4. So rows that
-- one statement inserts are in order as well. Built in only from PostgreSQL 18; every version uses this one.
create function rowhouse.uuid_v7() returns uuid
language sql volatile parallel safe
return (
  pg_catalog.overlay(
    pg_catalog.lpad(
      pg_catalog.to_hex(pg_catalog.floor(extract(epoch from pg_catalog.clock_timestamp()) * 4096000)::bigint), 15, '0'),
    '7', 13, 0)
  || pg_catalog.encode(pg_catalog.substring(pg_catalog.uuid_send(pg_catalog.gen_random_uuid()), 9), 'hex')
)::uuid;

-- The tenant of this transaction, or null. nullif: after any transaction that set it the setting is '' and not null.
-- A SQL-standard body is bound at creation, so no search_path can redirect it, and it stays inlinable.
create function rowhouse.current_tenant() returns uuid
language sql stable parallel safe
return nullif(pg_catalog.current_setting('app.tenant_id', true), '')::uuid;

-- The advisory lock that stands for a tenant: shared by its transactions, exclusive for who suspends, moves or erases it.
-- Two tenants on one number only wait for each other.
create function rowhouse.tenant_lock(tenant uuid) returns bigint
language sql immutable strict parallel safe
return pg_catalog.uuid_hash_extended(tenant, 7236);

create table rowhouse.tenants (
  id uuid primary key default rowhouse.uuid_v7(),
  slug text not null unique check (slug ~ '^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$'),
  name text not null check (name <> '' and pg_catalog.length(name) <= 200),
  status text not null default 'active' check (status in ('active', 'suspended')),
  placement text not null default 'shared' check (placement in ('shared', 'schema', 'database')),
  epoch integer not null default 1 check (epoch > 0),
  created_at timestamptz not null default pg_catalog.now()
);

alter table rowhouse.tenants enable row level security;
alter table rowhouse.tenants force row level security;

-- A transaction sees its own tenant's row, which is how enter() can check it without being a definer.
create policy tenant_isolation on rowhouse.tenants as restrictive to rowhouse_app, rowhouse_tenant
  using (id = (select rowhouse.current_tenant()));
create policy tenant_access on rowhouse.tenants for select to rowhouse_app, rowhouse_tenant using (true);
create policy owner_access on rowhouse.tenants to rowhouse_owner using (true) with check (true);
grant select on rowhouse.tenants to rowhouse_app, rowhouse_tenant;

-- The first statement of every tenant transaction. It runs as the caller, so it can widen nothing.
-- For a tenant with a schema of its own it goes on as that tenant's role, with that schema in the search_path and no other's:
-- set_config(…, true) is SET LOCAL with a bound value. Both are named after the id, since slugs change.
--   RH001 no such tenant    RH002 the tenant is not active    RH003 the tenant's placement has changed
--   RH004 the session is not clean: called twice, or something outlived an earlier transaction
create function rowhouse.enter(tenant uuid, epoch integer) returns void
language plpgsql volatile
as $$
declare
  found_status text;
  found_epoch integer;
  found_placement text;
  hex constant text := pg_catalog.replace(tenant::text, '-', '');
begin
  if pg_catalog.current_setting('app.tenant_id', true) <> '' then
    raise exception 'a tenant is set already in this session' using errcode = 'RH004';
  end if;
  -- A later isolation level would read the tenant's row as it was before the lock was granted.
  if pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'a tenant transaction must be READ COMMITTED' using errcode = 'RH004';
  end if;
  -- Held to the end of the transaction. The next statement takes its snapshot after the lock was granted, so it sees
  -- what a suspension or a move, which hold the lock exclusively, have committed.
  perform pg_catalog.pg_advisory_xact_lock_shared(rowhouse.tenant_lock(tenant));
  perform pg_catalog.set_config('app.tenant_id', tenant::text, true);
  select t.status, t.epoch, t.placement into found_status, found_epoch, found_placement
  from rowhouse.tenants t where t.id = tenant;
  if found_status is null then
    raise exception 'no such tenant' using errcode = 'RH001';
  elsif found_status <> 'active' then
    raise exception 'the tenant is %', found_status using errcode = 'RH002';
  elsif found_epoch <> epoch then
    raise exception 'the placement epoch is %, not %', found_epoch, epoch using errcode = 'RH003';
  elsif found_placement = 'schema' then
    -- pg_temp last: a temporary table must not stand in for the tenant's.
    perform pg_catalog.set_config('search_path', 't_' || hex || ', extensions, pg_temp', true);
    perform pg_catalog.set_config(
      'role', pg_catalog.regexp_replace(current_user, '_(app|worker)$', '_t_') || hex, true);
  elsif found_placement = 'database' then
    raise exception 'the tenant lives in a database of its own' using errcode = 'RH003';
  end if;
end
$$;

grant execute on function
  rowhouse.uuid_v7(), rowhouse.current_tenant(), rowhouse.tenant_lock(uuid), rowhouse.enter(uuid, integer)
  to rowhouse_app;
-- A transaction enters its tenant before it becomes a dedicated tenant's role, and needs these after it.
grant execute on function rowhouse.uuid_v7(), rowhouse.current_tenant() to rowhouse_tenant;

-- Custom domains. A domain resolves only once its ownership is proven.
create table rowhouse.domains (
  domain text primary key check (domain = pg_catalog.lower(domain) and pg_catalog.length(domain) between 3 and 253),
  tenant_id uuid not null references rowhouse.tenants (id) on delete cascade,
  verified_at timestamptz,
  created_at timestamptz not null default pg_catalog.now()
);
create index domains_tenant_id_idx on rowhouse.domains (tenant_id);

alter table rowhouse.domains enable row level security;
alter table rowhouse.domains force row level security;
create policy owner_access on rowhouse.domains to rowhouse_owner using (true) with check (true);
-- NOTE: nothing is granted to rowhouse_app: a domain is found through find_tenant_by_domain() only.

-- API keys. The secret is kept as a SHA-256 digest: it has 256 random bits, so there is nothing for a slow hash to slow.
create table rowhouse.api_keys (
  tenant_id uuid not null default rowhouse.current_tenant() references rowhouse.tenants (id) on delete cascade,
  id uuid not null default rowhouse.uuid_v7(),
  -- Unique over all tenants, or a key could not say whose it is. 60 random bits: a collision reveals nothing.
  prefix text not null unique check (prefix ~ '^[0-9a-z]{12}$'),
  secret_hash bytea not null check (pg_catalog.length(secret_hash) = 32),
  name text not null check (name <> '' and pg_catalog.length(name) <= 200),
  scopes text[] not null default '{}',
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz not null default pg_catalog.now(),
  primary key (tenant_id, id)
);

alter table rowhouse.api_keys enable row level security;
alter table rowhouse.api_keys force row level security;
create policy tenant_isolation on rowhouse.api_keys as restrictive to rowhouse_app, rowhouse_tenant
  using (tenant_id = (select rowhouse.current_tenant()))
  with check (tenant_id = (select rowhouse.current_tenant()));
create policy tenant_access on rowhouse.api_keys to rowhouse_app, rowhouse_tenant using (true) with check (true);
create policy owner_access on rowhouse.api_keys to rowhouse_owner using (true) with check (true);
grant select, insert, update, delete on rowhouse.api_keys to rowhouse_app, rowhouse_tenant;

-- Look-ups from before a tenant is known. Each returns at most one row for a complete key, so nobody can list customers.
-- They run as rowhouse_owner, whose owner_access policies let them see the row.

create function rowhouse.find_tenant_by_id(tenant uuid)
returns table (id uuid, slug text, name text, status text, placement text, epoch integer)
language sql stable strict security definer rows 1 set search_path = ''
begin atomic
  select t.id, t.slug, t.name, t.status, t.placement, t.epoch from rowhouse.tenants t where t.id = tenant;
end;

create function rowhouse.find_tenant_by_slug(tenant_slug text)
returns table (id uuid, slug text, name text, status text, placement text, epoch integer)
language sql stable strict security definer rows 1 set search_path = ''
begin atomic
  select t.id, t.slug, t.name, t.status, t.placement, t.epoch from rowhouse.tenants t where t.slug = tenant_slug;
end;

create function rowhouse.find_tenant_by_domain(tenant_domain text)
returns table (id uuid, slug text, name text, status text, placement text, epoch integer)
language sql stable strict security definer rows 1 set search_path = ''
begin atomic
  select t.id, t.slug, t.name, t.status, t.placement, t.epoch
  from rowhouse.domains d join rowhouse.tenants t on t.id = d.tenant_id
  where d.domain = tenant_domain and d.verified_at is not null;
end;

-- Expiry and revocation are decided here, by the database's clock.
create function rowhouse.find_api_key(key_prefix text)
returns table (id uuid, tenant_id uuid, secret_hash bytea, scopes text[])
language sql stable strict security definer rows 1 set search_path = ''
begin atomic
  select k.id, k.tenant_id, k.secret_hash, k.scopes
  from rowhouse.api_keys k
  where k.prefix = key_prefix
    and k.revoked_at is null
    and (k.expires_at is null or k.expires_at > pg_catalog.now());
end;

grant execute on function
  rowhouse.find_tenant_by_id(uuid), rowhouse.find_tenant_by_slug(text), rowhouse.find_tenant_by_domain(text),
  rowhouse.find_api_key(text)
  to rowhouse_app;

-- Which of these migrations are not applied: how a process that may not read the ledger learns whether the schema is the
-- one it was written for. A target is 'shared' or the name of a dedicated schema. What was applied beyond them is no concern of it, so an older release goes on serving.
create function rowhouse.missing_migrations(ids text[], wanted_target text)
returns table (missing text[])
language sql stable strict security definer rows 1 set search_path = ''
begin atomic
  select pg_catalog.array_agg(wanted.id order by wanted.position)
  from pg_catalog.unnest(ids) with ordinality as wanted (id, position)
  where not exists (
    select from rowhouse.migrations m
    where m.target = wanted_target and m.id = wanted.id and m.state = 'applied'
  );
end;

grant execute on function rowhouse.missing_migrations(text[], text) to rowhouse_app, rowhouse_worker;
