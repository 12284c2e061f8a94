-- Answers of requests that carried an Idempotency-Key. Written in the request's own transaction, so an answer is there
-- exactly when what it speaks of is.

create table rowhouse.idempotency_keys (
  tenant_id uuid not null default rowhouse.current_tenant() references rowhouse.tenants (id) on delete cascade,
  key text not null check (pg_catalog.length(key) between 1 and 255),
  -- SHA-256 over what was asked: another request under the same key is a mistake of the client's.
  request_hash bytea not null check (pg_catalog.length(request_hash) = 32),
  status smallint not null check (status between 200 and 399),
  headers jsonb not null,
  -- Null: too large to be kept, or a stream. The request must not run again all the same.
  body bytea,
  created_at timestamptz not null default pg_catalog.now(),
  primary key (tenant_id, key)
);
create index idempotency_keys_tenant_id_created_at_idx on rowhouse.idempotency_keys (tenant_id, created_at);

alter table rowhouse.idempotency_keys enable row level security;
alter table rowhouse.idempotency_keys force row level security;
create policy tenant_isolation on rowhouse.idempotency_keys as restrictive to rowhouse_app, rowhouse_tenant
  using (tenant_id = (select rowhouse.current_tenant()))
  with check (tenant_id = (select rowhouse.current_tenant()));
create policy tenant_access on rowhouse.idempotency_keys to rowhouse_app, rowhouse_tenant using (true) with check (true);
create policy owner_access on rowhouse.idempotency_keys to rowhouse_owner using (true) with check (true);
grant select, insert, update, delete on rowhouse.idempotency_keys to rowhouse_app, rowhouse_tenant;

-- Claims a key for this transaction. One row:
--   'new'        nobody has used it: go on, and store the answer
--   'replay'     the same request was answered: status, headers and body
--   'reused'     another request has used it
--   'in flight'  another transaction holds it at this moment
create function rowhouse.claim_idempotency_key(claimed text, hash bytea)
returns table (outcome text, status smallint, headers jsonb, body bytea)
language plpgsql volatile rows 1
as $$
declare
  stored rowhouse.idempotency_keys;
begin
  if not pg_catalog.pg_try_advisory_xact_lock(
    pg_catalog.hashtextextended(rowhouse.current_tenant()::text || '/' || claimed, 7236)
  ) then
    return query select 'in flight', null::smallint, null::jsonb, null::bytea;
    return;
  end if;
  -- A snapshot taken after the lock: it sees what its last holder has committed.
  select * into stored from rowhouse.idempotency_keys k
  where k.key = claimed and k.created_at > pg_catalog.now() - interval '24 hours';
  if not found then
    return query select 'new', null::smallint, null::jsonb, null::bytea;
  elsif stored.request_hash <> hash then
    return query select 'reused', null::smallint, null::jsonb, null::bytea;
  else
    return query select 'replay', stored.status, stored.headers, stored.body;
  end if;
end
$$;

-- Stores the answer under a claimed key, over an outdated one if need be, and removes a few outdated ones of the tenant.
create function rowhouse.store_idempotent_answer(
  claimed text, hash bytea, answer_status smallint, answer_headers jsonb, answer_body bytea
) returns void
language plpgsql volatile
as $$
begin
  insert into rowhouse.idempotency_keys (key, request_hash, status, headers, body)
  values (claimed, hash, answer_status, answer_headers, answer_body)
  on conflict (tenant_id, key) do update
    set request_hash = excluded.request_hash, status = excluded.status, headers = excluded.headers,
        body = excluded.body, created_at = excluded.created_at;
  delete from rowhouse.idempotency_keys k
  where (k.tenant_id, k.key) in (
    select o.tenant_id, o.key from rowhouse.idempotency_keys o
    where o.tenant_id = (select rowhouse.current_tenant())
      and o.created_at <= pg_catalog.now() - interval '24 hours'
    order by o.created_at
    limit 10
    for update skip locked
  );
end
$$;

grant execute on function
  rowhouse.claim_idempotency_key(text, bytea),
  rowhouse.store_idempotent_answer(text, bytea, smallint, jsonb, bytea)
  to rowhouse_app, rowhouse_tenant;
