-- Temporary tables outlive the transaction, and with it the tenant.
-- doctor: 0017_database_grant
-- cross-tenant: can make: temporary tables
reset role;
do $$ begin execute pg_catalog.format('grant temporary on database %I to rowhouse_app', pg_catalog.current_database()); end $$;
