import { createDatabase } from "../dist/database/database.js";
import { tenantTable } from "../dist/index.js";
import { eq } from "drizzle-orm";
import { text, timestamp } from "drizzle-orm/pg-core";
import { openBenchDatabase } from "./setup.ts";
await using database = await openBenchDatabase();
const db = createDatabase({
  url: database.appUrl,
  poolSize: 10,
  tenantLimit: 10,
  preparedStatements: true,
  applicationName: "b",
  onError: console.error,
});
const notes = tenantTable("notes", {
  body: text().notNull(),
  createdAt: timestamp({ withTimezone: true }).notNull().defaultNow(),
});
const tenants = database.tenants.map((t) => ({
  ref: { id: t.id, placement: "shared" as const, epoch: 0 },
  rows: t.rows,
}));
const row = await db.lookup<{ epoch: number }>("find_tenant_by_id", [tenants[0]!.ref.id]);
for (const t of tenants) (t.ref as any).epoch = row!.epoch;
let n = 0;
const one = async (i: number) => {
  const t = tenants[i % tenants.length]!;
  const tx = db.open(t.ref, { readOnly: true });
  const rows = await tx.db
    .select()
    .from(notes)
    .where(eq(notes.id, t.rows[i % 5]!));
  if (rows.length !== 1) throw new Error("no row");
  await tx.commit();
};
const run = async (total: number) => {
  n = 0;
  await Promise.all(
    Array.from({ length: 10 }, async () => {
      while (n < total) await one(n++);
    }),
  );
};
await run(3000);
const rs: number[] = [];
for (let r = 0; r < 12; r++) {
  const c = process.cpuUsage();
  await run(3000);
  const d = process.cpuUsage(c);
  rs.push((d.user + d.system) / 3000);
}
rs.sort((a, b) => a - b);
console.log("tx us min", rs[0]!.toFixed(0), "q1", rs[3]!.toFixed(0), "median", rs[6]!.toFixed(0));
await db.close();
