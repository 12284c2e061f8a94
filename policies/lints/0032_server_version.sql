-- Releases of PostgreSQL that enforce row-level security wrongly (https://www.postgresql.org/support/security/).
select
  '0032_server_version' as rule,
  hole.level,
  null as schema,
  'PostgreSQL ' || pg_catalog.current_setting('server_version') as object,
  pg_catalog.format('This server has %s: %s. Fixed in %s.%s.', hole.cve, hole.what, hole.major, hole.fixed_minor) as detail,
  'Install the latest minor release; it needs no dump and restore.' as remediation,
  '0032_server_version:' || hole.cve as key
from (
  values
    ('CVE-2023-2455', 'error', 'policies of another role after a function was inlined', 15, 3),
    ('CVE-2023-39418', 'error', 'MERGE does not enforce UPDATE and SELECT policies', 15, 4),
    ('CVE-2024-10976', 'error', 'policies of another role below subqueries', 15, 9),
    ('CVE-2024-10976', 'error', 'policies of another role below subqueries', 16, 5),
    ('CVE-2024-10976', 'error', 'policies of another role below subqueries', 17, 1),
    ('CVE-2025-8713', 'error', 'statistics show rows that policies hide', 15, 14),
    ('CVE-2025-8713', 'error', 'statistics show rows that policies hide', 16, 10),
    ('CVE-2025-8713', 'error', 'statistics show rows that policies hide', 17, 6),
    -- Only while a role is being changed under open connections.
    ('CVE-2026-14666', 'warning', 'cached plans outlive a change of the role', 15, 19),
    ('CVE-2026-14666', 'warning', 'cached plans outlive a change of the role', 16, 15),
    ('CVE-2026-14666', 'warning', 'cached plans outlive a change of the role', 17, 11),
    ('CVE-2026-14666', 'warning', 'cached plans outlive a change of the role', 18, 6)
) as hole (cve, level, what, major, fixed_minor)
cross join (select pg_catalog.current_setting('server_version_num')::integer) as server (version)
where server.version / 10000 = hole.major and server.version % 10000 < hole.fixed_minor
