/** What a test file needs to know of this run's PostgreSQL. */
export interface TestCluster {
  /** The administrator of the test server: a superuser, unless TEST_DATABASE_URL's is none. */
  readonly adminUrl: string;
  /** The role that owns the databases and made the roles: never a superuser. */
  readonly provisionerUrl: string;
  readonly rolePrefix: string;
  /** The migrated database that is cloned. */
  readonly template: string;
  readonly passwords: Readonly<Record<TestRole, string>>;
}

export type TestRole = "owner" | "app" | "worker";

/** The URL of one of the run's databases, as one of its roles or as the server's administrator. */
export function urlAt(cluster: TestCluster, database: string, role: TestRole | "admin" | "provisioner"): string {
  const url = new URL(role === "provisioner" ? cluster.provisionerUrl : cluster.adminUrl);
  url.pathname = `/${database}`;
  if (role === "admin" || role === "provisioner") return url.href;
  return Object.assign(url, { username: `${cluster.rolePrefix}_${role}`, password: cluster.passwords[role] }).href;
}
