import {
  connectSql,
  createRowhouse,
  createTenant,
  listTenants,
  openServers,
  prepareDatabase,
  readConfig,
  requireUrl,
  sharedTokens,
  signToken,
  type Rowhouse,
} from "rowhouse";
import { features, migrations, resolvers } from "./app.ts";

/** Makes the tenant with demo data, unless it is there. @returns a token for it, good for a day */
async function seedTenant(rowhouse: Rowhouse, ownerUrl: string, slug: string, name: string): Promise<string> {
  await using owner = await connectSql(ownerUrl, "invoicing seed");
  const existing = (await listTenants(owner)).find((tenant) => tenant.slug === slug);
  const tenant = existing ?? (await createTenant(owner, { slug, name }));
  if (!existing) {
    await rowhouse.withTenant(tenant.id, async (db) => {
      for (const feature of features) await feature.seed?.(db);
    });
  }
  const grant = { subject: `demo@${slug}`, tenantId: tenant.id, scopes: ["read", "write"], expiresIn: 86_400 };
  return signToken({ ...tokens, ...grant });
}

const config = readConfig();
const servers = await openServers(config);
if (servers.embedded)
  console.log(`PostgreSQL runs on port ${servers.embedded.port}, data in ${servers.embedded.directory}`);
await prepareDatabase(servers, { rolePrefix: config.rolePrefix, folders: migrations });

const tokens = await sharedTokens(config);
const rowhouse = await createRowhouse({
  url: servers.urls.app,
  features,
  migrations,
  resolvers: resolvers(tokens),
  poolSize: config.poolSize,
  tenantLimit: config.tenantLimit,
  preparedStatements: config.preparedStatements,
  trustProxy: config.trustProxy,
  log: config.logLevel,
  info: { title: "Invoicing", version: "1.0.0" },
});
const ownerUrl = requireUrl(servers.urls, "owner");
const acme = await seedTenant(rowhouse, ownerUrl, "acme", "Acme Inc.");
const globex = await seedTenant(rowhouse, ownerUrl, "globex", "Globex Corp.");
const { url } = await rowhouse.listen({ port: config.port, host: "127.0.0.1" }).catch(async (error: Error) => {
  console.error(`Cannot listen on port ${config.port}: ${error.message}. Choose another one with PORT.`);
  await rowhouse.close();
  await servers.stop();
  return process.exit(1);
});

console.log(`
Invoicing serves two tenants at ${url}. Paste these lines into another terminal:

ACME='Authorization: Bearer ${acme}'
GLOBEX='Authorization: Bearer ${globex}'

curl -H "$ACME" ${url}/customers
curl -H "$GLOBEX" ${url}/customers
curl -H "$ACME" -H 'Content-Type: application/json' -d '{"name":"Grace Hopper","email":"grace@example.com"}' ${url}/customers
curl -H "$ACME" ${url}/reports/turnover
curl ${url}/openapi.json

Stop with Ctrl-C.
`);

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    void rowhouse
      .close()
      .then(() => servers.stop())
      .finally(() => process.exit());
  });
}
