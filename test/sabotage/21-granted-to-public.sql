-- Every role of the server may read the table.
-- doctor: 0013_table_grant
grant select on public.orders to public;
