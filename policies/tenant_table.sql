-- The one template of a tenant table's wall, rendered for each table by `rowhouse migrate` with its qualified,
-- quoted name in place of the braces. Policies are split by role; no setting that a session can set may widen what it sees.

alter table {{table}} enable row level security;
-- forced: the owner is held to the policies too, so a definer function or a view of the owner cannot walk past them.
alter table {{table}} force row level security;

drop policy if exists tenant_isolation on {{table}};
drop policy if exists tenant_access on {{table}};
drop policy if exists owner_access on {{table}};

-- Restrictive: whatever permissive policy a migration may add beside it, this one still has to agree.
create policy tenant_isolation on {{table}} as restrictive to rowhouse_app
  using (tenant_id = (select rowhouse.current_tenant()))
  with check (tenant_id = (select rowhouse.current_tenant()));

-- Restrictive policies alone admit nothing; this one opens the table that the one above narrows.
create policy tenant_access on {{table}} to rowhouse_app using (true) with check (true);

-- Under FORCE an owner without a policy would see nothing: backfills would silently change no rows.
create policy owner_access on {{table}} to rowhouse_owner using (true) with check (true);

revoke all on {{table}} from public, rowhouse_app, rowhouse_worker;
grant select, insert, update, delete on {{table}} to rowhouse_app;
