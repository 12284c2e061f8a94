-- The setting is cast without nullif: after the first transaction it is '' and every query fails.
-- doctor: 0006_template_policy, 0008_policy_reads_setting
-- zero-count: public.orders
alter policy tenant_isolation on public.orders
  using (tenant_id = pg_catalog.current_setting('app.tenant_id', true)::uuid);
