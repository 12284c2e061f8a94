ALTER TABLE "plain" DISABLE ROW LEVEL SECURITY;--> statement-breakpoint
DROP VIEW "public"."open_orders";--> statement-breakpoint
DROP MATERIALIZED VIEW "public"."totals";--> statement-breakpoint
DROP TABLE "order_tags" CASCADE;--> statement-breakpoint
DROP TABLE "payments" CASCADE;--> statement-breakpoint
DROP TABLE "plain" CASCADE;--> statement-breakpoint
ALTER TABLE "customers" DROP CONSTRAINT "customers_phone_unique";--> statement-breakpoint
ALTER TABLE "customers" DROP CONSTRAINT "customers_email_unique";--> statement-breakpoint
ALTER TABLE "customers" DROP CONSTRAINT "customers_name_country";--> statement-breakpoint
ALTER TABLE "orders" DROP CONSTRAINT "orders_number_unique";--> statement-breakpoint
ALTER TABLE "orders" DROP CONSTRAINT "orders_external";--> statement-breakpoint
ALTER TABLE "global"."plans" DROP CONSTRAINT "plans_name_unique";--> statement-breakpoint
ALTER TABLE "customers" DROP CONSTRAINT "customers_email_has_at";--> statement-breakpoint
ALTER TABLE "orders" DROP CONSTRAINT "orders_small";--> statement-breakpoint
ALTER TABLE "orders" DROP CONSTRAINT "orders_total_is_positive";--> statement-breakpoint
ALTER TABLE "customers" DROP CONSTRAINT "customers_plan_id_plans_id_fk";
--> statement-breakpoint
ALTER TABLE "orders" DROP CONSTRAINT "orders_customer_id_customers_id_fk";
--> statement-breakpoint
ALTER TABLE "orders" DROP CONSTRAINT "orders_parent";
--> statement-breakpoint
DROP INDEX "customers_created_at_index";--> statement-breakpoint
DROP INDEX "customers_data";--> statement-breakpoint
DROP INDEX "customers_data_path";--> statement-breakpoint
DROP INDEX "customers_lower_email";--> statement-breakpoint
DROP INDEX "customers_one_open";--> statement-breakpoint
DROP INDEX "orders_external_idx";--> statement-breakpoint
DROP INDEX "orders_state";--> statement-breakpoint
DROP INDEX "orders_customer_id_index";--> statement-breakpoint
ALTER TABLE "customers" ALTER COLUMN "score" DROP DEFAULT;--> statement-breakpoint
ALTER TABLE "customers" ALTER COLUMN "score" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "orders" ALTER COLUMN "number" SET DATA TYPE integer;--> statement-breakpoint
ALTER TABLE "orders" ALTER COLUMN "state" DROP DEFAULT;--> statement-breakpoint
ALTER TABLE "orders" ALTER COLUMN "state" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "customers" DROP COLUMN "name";--> statement-breakpoint
ALTER TABLE "customers" DROP COLUMN "country";--> statement-breakpoint
ALTER TABLE "customers" DROP COLUMN "phone";--> statement-breakpoint
ALTER TABLE "customers" DROP COLUMN "plan_id";--> statement-breakpoint
ALTER TABLE "customers" DROP COLUMN "tags";--> statement-breakpoint
ALTER TABLE "customers" DROP COLUMN "data";--> statement-breakpoint
ALTER TABLE "customers" DROP COLUMN "raw";--> statement-breakpoint
ALTER TABLE "customers" DROP COLUMN "created_at";--> statement-breakpoint
ALTER TABLE "orders" DROP COLUMN "external_id";--> statement-breakpoint
ALTER TABLE "orders" DROP COLUMN "feeling";--> statement-breakpoint
ALTER TABLE "orders" DROP COLUMN "serial_number";--> statement-breakpoint
ALTER TABLE "orders" DROP COLUMN "big_number";--> statement-breakpoint
ALTER TABLE "orders" DROP COLUMN "identity";--> statement-breakpoint
ALTER TABLE "orders" DROP COLUMN "by_default";--> statement-breakpoint
ALTER TABLE "orders" DROP COLUMN "customer_id";--> statement-breakpoint
ALTER TABLE "orders" DROP COLUMN "parent_id";--> statement-breakpoint
ALTER TABLE "orders" DROP COLUMN "states";--> statement-breakpoint
ALTER TABLE "orders" DROP COLUMN "is_done";--> statement-breakpoint
ALTER TABLE "orders" DROP COLUMN "weight";--> statement-breakpoint
ALTER TABLE "orders" DROP COLUMN "small";--> statement-breakpoint
ALTER TABLE "orders" DROP COLUMN "day";--> statement-breakpoint
ALTER TABLE "orders" DROP COLUMN "at";--> statement-breakpoint
ALTER TABLE "orders" DROP COLUMN "took";--> statement-breakpoint
ALTER TABLE "orders" DROP COLUMN "ip";--> statement-breakpoint
ALTER TABLE "orders" DROP COLUMN "place";--> statement-breakpoint
DROP TYPE "public"."mood";--> statement-breakpoint
DROP SEQUENCE "public"."invoice_numbers";