CREATE TABLE "notes" (
	"tenant_id" uuid DEFAULT rowhouse.current_tenant() NOT NULL,
	"id" uuid DEFAULT rowhouse.uuid_v7() NOT NULL,
	"title" text NOT NULL,
	"body" text DEFAULT '' NOT NULL,
	CONSTRAINT "notes_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "notes_title_unique" UNIQUE("tenant_id","title")
);
--> statement-breakpoint
ALTER TABLE "notes" ENABLE ROW LEVEL SECURITY;