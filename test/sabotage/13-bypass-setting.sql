-- A setting lets through whoever sets it.
-- doctor: 0006_template_policy, 0008_policy_reads_setting
alter policy tenant_isolation on public.orders
  using (tenant_id = (select rowhouse.current_tenant()) or pg_catalog.current_setting('app.bypass', true) = 'on');
