DROP VIEW t_0123456789abcdef0123456789abcdef.open_orders;
DROP MATERIALIZED VIEW t_0123456789abcdef0123456789abcdef.totals;
DROP TABLE order_tags CASCADE;
DROP TABLE payments CASCADE;
DROP TABLE plain CASCADE;
ALTER TABLE customers 
  DROP CONSTRAINT customers_phone_unique RESTRICT;
ALTER TABLE customers 
  DROP CONSTRAINT customers_email_unique RESTRICT;
ALTER TABLE customers 
  DROP CONSTRAINT customers_name_country RESTRICT;
ALTER TABLE orders 
  DROP CONSTRAINT orders_number_unique RESTRICT;
ALTER TABLE orders 
  DROP CONSTRAINT orders_external RESTRICT;
ALTER TABLE customers 
  DROP CONSTRAINT customers_email_has_at RESTRICT;
ALTER TABLE orders 
  DROP CONSTRAINT orders_small RESTRICT;
ALTER TABLE orders 
  DROP CONSTRAINT orders_total_is_positive RESTRICT;
ALTER TABLE customers 
  DROP CONSTRAINT customers_plan_id_plans_id_fk RESTRICT;
ALTER TABLE orders 
  DROP CONSTRAINT orders_customer_id_customers_id_fk RESTRICT;
ALTER TABLE orders 
  DROP CONSTRAINT orders_parent RESTRICT;
DROP INDEX customers_created_at_index;
DROP INDEX customers_data;
DROP INDEX customers_data_path;
DROP INDEX customers_lower_email;
DROP INDEX customers_one_open;
DROP INDEX orders_external_idx;
DROP INDEX orders_state;
DROP INDEX orders_customer_id_index;
ALTER TABLE customers 
  ALTER COLUMN score DROP DEFAULT;
ALTER TABLE customers 
  ALTER COLUMN score DROP NOT NULL;
ALTER TABLE orders 
  ALTER COLUMN number TYPE int;
ALTER TABLE orders 
  ALTER COLUMN state DROP DEFAULT;
ALTER TABLE orders 
  ALTER COLUMN state DROP NOT NULL;
ALTER TABLE customers 
  DROP COLUMN name RESTRICT;
ALTER TABLE customers 
  DROP COLUMN country RESTRICT;
ALTER TABLE customers 
  DROP COLUMN phone RESTRICT;
ALTER TABLE customers 
  DROP COLUMN plan_id RESTRICT;
ALTER TABLE customers 
  DROP COLUMN tags RESTRICT;
ALTER TABLE customers 
  DROP COLUMN data RESTRICT;
ALTER TABLE customers 
  DROP COLUMN raw RESTRICT;
ALTER TABLE customers 
  DROP COLUMN created_at RESTRICT;
ALTER TABLE orders 
  DROP COLUMN external_id RESTRICT;
ALTER TABLE orders 
  DROP COLUMN feeling RESTRICT;
ALTER TABLE orders 
  DROP COLUMN serial_number RESTRICT;
ALTER TABLE orders 
  DROP COLUMN big_number RESTRICT;
ALTER TABLE orders 
  DROP COLUMN identity RESTRICT;
ALTER TABLE orders 
  DROP COLUMN by_default RESTRICT;
ALTER TABLE orders 
  DROP COLUMN customer_id RESTRICT;
ALTER TABLE orders 
  DROP COLUMN parent_id RESTRICT;
ALTER TABLE orders 
  DROP COLUMN states RESTRICT;
ALTER TABLE orders 
  DROP COLUMN is_done RESTRICT;
ALTER TABLE orders 
  DROP COLUMN weight RESTRICT;
ALTER TABLE orders 
  DROP COLUMN small RESTRICT;
ALTER TABLE orders 
  DROP COLUMN day RESTRICT;
ALTER TABLE orders 
  DROP COLUMN at RESTRICT;
ALTER TABLE orders 
  DROP COLUMN took RESTRICT;
ALTER TABLE orders 
  DROP COLUMN ip RESTRICT;
ALTER TABLE orders 
  DROP COLUMN place RESTRICT;
DROP TYPE t_0123456789abcdef0123456789abcdef.mood;
DROP SEQUENCE t_0123456789abcdef0123456789abcdef.invoice_numbers;
