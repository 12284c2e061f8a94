ALTER TYPE t_0123456789abcdef0123456789abcdef.order_state ADD VALUE 'new' BEFORE 'open';
ALTER TYPE t_0123456789abcdef0123456789abcdef.order_state ADD VALUE 'sent' BEFORE 'paid';
ALTER SEQUENCE t_0123456789abcdef0123456789abcdef.invoice_numbers INCREMENT 10 MINVALUE 1 MAXVALUE 9223372036854775807 START 100 CACHE 3;
CREATE TABLE payments (
  tenant_id uuid DEFAULT rowhouse.current_tenant() NOT NULL,
  id uuid DEFAULT rowhouse.uuid_v7() NOT NULL,
  order_id uuid NOT NULL,
  cents bigint NOT NULL,
  state order_state NOT NULL,
  CONSTRAINT payments_tenant_id_id_pk PRIMARY KEY (id, tenant_id)
);
DROP VIEW t_0123456789abcdef0123456789abcdef.open_orders;
ALTER TABLE customers 
  ALTER COLUMN name TYPE varchar(300);
ALTER TABLE customers 
  ALTER COLUMN name DROP DEFAULT;
ALTER TABLE customers 
  ALTER COLUMN country SET DEFAULT 'BR';
ALTER TABLE customers 
  ALTER COLUMN country SET NOT NULL;
ALTER TABLE orders 
  ALTER COLUMN number TYPE bigint;
ALTER TABLE orders 
  ALTER COLUMN small SET NOT NULL;
ALTER TABLE orders 
  ALTER COLUMN took SET DEFAULT '1 day';
ALTER TABLE customers 
  ADD COLUMN phone text;
ALTER TABLE customers 
  ADD COLUMN score int
    DEFAULT 0
    NOT NULL;
ALTER TABLE orders 
  ADD COLUMN external_id text;
ALTER TABLE orders 
  ADD COLUMN feeling mood
    DEFAULT 'good';
ALTER TABLE payments 
  ADD CONSTRAINT payments_order_id_orders_id_fk
    FOREIGN KEY(order_id, tenant_id)
    REFERENCES t_0123456789abcdef0123456789abcdef.orders (id, tenant_id)
    ON DELETE RESTRICT;
CREATE INDEX payments_order_id_index ON payments (order_id, tenant_id);
CREATE INDEX CONCURRENTLY orders_external_idx ON orders (external_id, tenant_id);
ALTER TABLE customers 
  ADD CONSTRAINT customers_phone_unique 
    UNIQUE (phone, tenant_id);
ALTER TABLE orders 
  ADD CONSTRAINT orders_external 
    UNIQUE (external_id, number, tenant_id);
ALTER TABLE orders 
  ADD CONSTRAINT orders_small 
    CHECK (orders.small < 100);
CREATE VIEW t_0123456789abcdef0123456789abcdef.open_orders WITH (security_invoker = 'true') AS SELECT
  tenant_id,
  id,
  number,
  external_id,
  feeling,
  serial_number,
  big_number,
  identity,
  by_default,
  customer_id,
  parent_id,
  state,
  states,
  total,
  doubled,
  is_done,
  weight,
  small,
  day,
  at,
  took,
  ip,
  place
FROM orders
WHERE
  orders.state = 'open';
