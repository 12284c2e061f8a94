-- A new partition is granted: its own name leads past the wall of the table it is part of.
-- doctor: 0015_partition_grant
-- zero-count: public.visits_1999
-- cross-tenant: shows another tenant's rows: public.visits_1999
create table public.visits_1999 partition of public.visits for values from ('1999-01-01') to ('2000-01-01');
insert into public.visits (tenant_id, seen_at) select t.id, '1999-12-31' from rowhouse.tenants t;
grant select on public.visits_1999 to rowhouse_app;
