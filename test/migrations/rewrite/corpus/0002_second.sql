ALTER TYPE "public"."order_state" ADD VALUE 'new' BEFORE 'open';--> statement-breakpoint
ALTER TYPE "public"."order_state" ADD VALUE 'sent' BEFORE 'paid';--> statement-breakpoint
ALTER SEQUENCE "public"."invoice_numbers" INCREMENT BY 10 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 100 CACHE 3;--> statement-breakpoint
CREATE TABLE "payments" (
	"tenant_id" uuid DEFAULT rowhouse.current_tenant() NOT NULL,
	"id" uuid DEFAULT rowhouse.uuid_v7() NOT NULL,
	"order_id" uuid NOT NULL,
	"cents" bigint NOT NULL,
	"state" "order_state" NOT NULL,
	CONSTRAINT "payments_tenant_id_id_pk" PRIMARY KEY("tenant_id","id")
);
--> statement-breakpoint
ALTER TABLE "payments" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
DROP VIEW "public"."open_orders";--> statement-breakpoint
ALTER TABLE "customers" ALTER COLUMN "name" SET DATA TYPE varchar(300);--> statement-breakpoint
ALTER TABLE "customers" ALTER COLUMN "name" DROP DEFAULT;--> statement-breakpoint
ALTER TABLE "customers" ALTER COLUMN "country" SET DEFAULT 'BR';--> statement-breakpoint
ALTER TABLE "customers" ALTER COLUMN "country" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "orders" ALTER COLUMN "number" SET DATA TYPE bigint;--> statement-breakpoint
ALTER TABLE "orders" ALTER COLUMN "small" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "orders" ALTER COLUMN "took" SET DEFAULT '1 day';--> statement-breakpoint
ALTER TABLE "customers" ADD COLUMN "phone" text;--> statement-breakpoint
ALTER TABLE "customers" ADD COLUMN "score" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "orders" ADD COLUMN "external_id" text;--> statement-breakpoint
ALTER TABLE "orders" ADD COLUMN "feeling" "mood" DEFAULT 'good';--> statement-breakpoint
ALTER TABLE "payments" ADD CONSTRAINT "payments_order_id_orders_id_fk" FOREIGN KEY ("tenant_id","order_id") REFERENCES "public"."orders"("tenant_id","id") ON DELETE restrict ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "payments_order_id_index" ON "payments" USING btree ("tenant_id","order_id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "orders_external_idx" ON "orders" USING btree ("tenant_id","external_id");--> statement-breakpoint
ALTER TABLE "customers" ADD CONSTRAINT "customers_phone_unique" UNIQUE("tenant_id","phone");--> statement-breakpoint
ALTER TABLE "orders" ADD CONSTRAINT "orders_external" UNIQUE("tenant_id","external_id","number");--> statement-breakpoint
ALTER TABLE "orders" ADD CONSTRAINT "orders_small" CHECK ("orders"."small" < 100);--> statement-breakpoint
CREATE VIEW "public"."open_orders" WITH (security_invoker = true) AS (select "tenant_id", "id", "number", "external_id", "feeling", "serial_number", "big_number", "identity", "by_default", "customer_id", "parent_id", "state", "states", "total", "doubled", "is_done", "weight", "small", "day", "at", "took", "ip", "place" from "orders" where "orders"."state" = 'open');