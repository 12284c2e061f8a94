import { expect, describe, it } from "vitest";
import { connectSql } from "../../src/database/sql-connection.ts";
import { ConfigInvalid, PermissionDenied, UnsafeRole, type RowhouseError } from "../../src/errors.ts";
import { initDatabase, type InitDatabaseOptions } from "../../src/migrations/init-database.ts";
import { asSuperuser, connect, dropWhenFinished, newName, PASSWORDS, rolesOf, superuserUrl, urlAs } from "./scratch.ts";

/** Names for one test: a database, a prefix and, made at once, an administrator who is no superuser. */
async function setUp(attributes = "createrole createdb") {
  const name = newName();
  const admin = `${name}_admin`;
  dropWhenFinished([name, `${name}_2`], [...rolesOf(name), ...rolesOf(`${name}_2`), admin, `${admin}_2`]);
  const makeAdmin = (role: string) => asSuperuser(`create role ${role} login ${attributes} password 'admin-password'`);
  await makeAdmin(admin);
  const adminUrl = urlAs(name, admin, "admin-password");
  const init = (options: Partial<InitDatabaseOptions> = {}) =>
    initDatabase({ adminUrl, rolePrefix: name, passwords: PASSWORDS, ...options });
  return { name, admin, adminUrl, makeAdmin, init };
}

const serverVersion = async () =>
  Number((await asSuperuser("select current_setting('server_version_num') as v")).rows[0]!["v"]);

const attributesOf = async (prefix: string) =>
  (
    await asSuperuser(`
      select substr(rolname, length('${prefix}_') + 1) as role, rolcanlogin as login, rolinherit as inherit,
        rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolreplication as dangerous
      from pg_roles where rolname in ('${rolesOf(prefix).join("', '")}') order by 1`)
  ).rows;

const EXPECTED_ROLES = [
  { role: "app", login: true, inherit: false, dangerous: false },
  { role: "owner", login: true, inherit: false, dangerous: false },
  { role: "queue", login: false, inherit: false, dangerous: false },
  { role: "tenant", login: false, inherit: false, dangerous: false },
  { role: "worker", login: true, inherit: false, dangerous: false },
];

const caught = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.fail("nothing was thrown"),
    (error: RowhouseError) => error,
  );

describe("an administrator who is no superuser", () => {
  it("makes the database, the roles and their grants, and may do so again", async () => {
    const { name, admin, init } = await setUp();
    await init();
    await init();
    expect(await attributesOf(name)).toEqual(EXPECTED_ROLES);
    const { rows } = await asSuperuser(
      `select pg_get_userbyid(datdba) as owner, pg_encoding_to_char(encoding) as encoding,
         has_database_privilege('${name}_app', oid, 'connect') as app_connects,
         has_database_privilege('${name}_app', oid, 'temporary, create') as app_makes,
         has_database_privilege('${name}_worker', oid, 'connect') as worker_connects,
         has_database_privilege('${name}_owner', oid, 'create') as owner_creates,
         has_database_privilege('${name}_queue', oid, 'connect, create, temporary') as queue_has_any,
         (select count(*)::int from aclexplode(datacl) where grantee = 0) as public_grants
       from pg_database where datname = '${name}'`,
    );
    expect(rows).toEqual([
      {
        owner: admin,
        encoding: "UTF8",
        app_connects: true,
        app_makes: false,
        worker_connects: true,
        owner_creates: true,
        queue_has_any: false,
        public_grants: 0,
      },
    ]);
  });

  it("gives the application no more than the use of schema public", async () => {
    const { name, init } = await setUp();
    await init();
    const app = await connect(urlAs(name, `${name}_app`, PASSWORDS.app));
    const { rows } = await app.query(
      `select has_schema_privilege('public', 'usage') as uses, has_schema_privilege('public', 'create') as creates,
         current_setting('search_path') as search_path, current_setting('statement_timeout') as statement_timeout,
         current_setting('lock_timeout') as lock_timeout,
         current_setting('idle_in_transaction_session_timeout') as idle_timeout`,
    );
    expect(rows).toEqual([
      {
        uses: true,
        creates: false,
        search_path: "public, extensions, pg_temp",
        statement_timeout: "30s",
        lock_timeout: "5s",
        idle_timeout: "30s",
      },
    ]);
    expect((await caught(app.query("create temporary table t (a int)"))).code).toBe("ERR_PERMISSION_DENIED");
    expect((await caught(app.query("create table public.t (a int)"))).code).toBe("ERR_PERMISSION_DENIED");
  });

  it("lets the owner become rowhouse_queue without inheriting from it", async () => {
    const { name, init } = await setUp();
    await init();
    const owner = await connect(urlAs(name, `${name}_owner`, PASSWORDS.owner));
    await owner.query(`set role ${name}_queue`);
    await owner.query("reset role");
    await owner.query("create schema s");
    await owner.query("create table s.t (a int)");
    await owner.query(`grant usage, create on schema s to ${name}_queue`);
    await owner.query(`alter table s.t owner to ${name}_queue`);
    expect((await caught(owner.query("select from s.t"))).code).toBe("ERR_PERMISSION_DENIED");
  });

  it("can lay it into a database of its own that exists", async () => {
    const { name, admin, adminUrl, init } = await setUp("createrole");
    await asSuperuser(`create database ${name} owner ${admin}`);
    await init({ adminUrl });
    expect(await attributesOf(name)).toEqual(EXPECTED_ROLES);
  });

  it("is told when it may not create the database", async () => {
    const { name, init } = await setUp("createrole");
    const error = await caught(init());
    expect(error).toBeInstanceOf(PermissionDenied);
    expect(error.message).toBe(
      `Database "${name}" does not exist and the administrator may not create it. Create it (owned by the administrator ` +
        "of ADMIN_DATABASE_URL), or give that role CREATEDB.",
    );
  });

  it("is told when it may not create roles", async () => {
    const { init } = await setUp("createdb");
    const error = await caught(init());
    expect(error).toBeInstanceOf(PermissionDenied);
    expect(error.message).toMatch(
      /^The administrator may not do what init-database needs: permission denied to create role\. It must have CREATEROLE,/,
    );
  });

  it("is told, with the statements, when its grants are only warned about", async () => {
    const { name, admin, init } = await setUp();
    await asSuperuser(`create database ${name}`);
    // With some right of its own, but no right to give it: PostgreSQL then warns, and says GRANT.
    await asSuperuser(`grant connect, create on database ${name} to ${admin}`);
    await asSuperuser(`grant usage on schema public to ${admin}`, name);
    const owner = new URL(superuserUrl()).username;
    const error = await caught(init());
    expect(error).toBeInstanceOf(PermissionDenied);
    expect(error.message).toContain(`${name}_owner may not CREATE on database ${name}`);
    expect(error.message).toContain(`\n  grant create on database ${name} to ${name}_owner;  -- as ${owner}`);
    expect(error.message).toContain(`\n  grant connect on database ${name} to ${name}_app;  -- as ${owner}`);
    expect(error.message).toContain(`\n  revoke temporary on database ${name} from public;  -- as ${owner}`);
    expect(error.message).toContain(`\n  grant usage on schema public to ${name}_app;  -- as ${owner}`);
    // Nothing half done stays.
    expect(await attributesOf(name)).toEqual([]);

    // The way out works: whoever owns the database does it once.
    await initDatabase({ adminUrl: superuserUrl(name), rolePrefix: name });
    expect(await attributesOf(name)).toEqual(EXPECTED_ROLES);
  });

  it("may initialise what another made, from PostgreSQL 16 on with ADMIN OPTION on the roles", async () => {
    const { name, admin, makeAdmin, init } = await setUp();
    await init();
    await makeAdmin(`${admin}_2`);
    const second = {
      adminUrl: urlAs("postgres", `${admin}_2`, "admin-password"),
      database: `${name}_2`,
    };
    if ((await serverVersion()) >= 160_000) {
      const error = await caught(init(second));
      expect(error).toBeInstanceOf(PermissionDenied);
      expect(error.message).toContain(
        "from PostgreSQL 16 on, have ADMIN OPTION on the roles if someone else created them.",
      );
      for (const role of rolesOf(name)) await asSuperuser(`grant ${role} to ${admin}_2 with admin option`);
    }
    await init(second);
    await using app = await connectSql(urlAs(`${name}_2`, `${name}_app`, PASSWORDS.app), "test");
    expect((await app.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
  });
});

describe("initialising", () => {
  it("works as a superuser too", async () => {
    const { name, init } = await setUp();
    await init({ adminUrl: superuserUrl(), database: name });
    expect(await attributesOf(name)).toEqual(EXPECTED_ROLES);
  });

  it("may be done many times at once, for one database and for several of one server", async () => {
    const { name, init } = await setUp();
    const databases = [name, `${name}_2`, name, `${name}_2`, name, `${name}_2`];
    await Promise.all(databases.map((database) => init({ database })));
    expect(await attributesOf(name)).toEqual(EXPECTED_ROLES);
    for (const database of [name, `${name}_2`]) {
      const app = await connect(urlAs(database, `${name}_app`, PASSWORDS.app));
      expect((await app.query("show lock_timeout")).rows).toEqual([{ lock_timeout: "5s" }]);
    }
  });

  it("keeps what an operator has set, but not another search_path", async () => {
    const { name, init } = await setUp();
    await init();
    await asSuperuser(`alter role ${name}_app in database ${name} set statement_timeout = '7s'`);
    await asSuperuser(`alter role ${name}_app in database ${name} set search_path = pg_temp, public`);
    await init();
    const app = await connect(urlAs(name, `${name}_app`, PASSWORDS.app));
    const { rows } = await app.query(
      "select current_setting('search_path') as path, current_setting('statement_timeout') as timeout",
    );
    expect(rows).toEqual([{ path: "public, extensions, pg_temp", timeout: "7s" }]);
  });

  it("stores passwords as SCRAM verifiers, and leaves them alone when none is given", async () => {
    const { name, adminUrl, init } = await setUp();
    await init();
    const stored = async () =>
      (await asSuperuser(`select rolpassword as p from pg_authid where rolname like '${name}\\_%' order by rolname`))
        .rows;
    const before = await stored();
    // admin, app, owner, queue, tenant, worker
    expect(before.map((row) => String(row["p"]).slice(0, 19))).toEqual([
      "SCRAM-SHA-256$4096:",
      "SCRAM-SHA-256$4096:",
      "SCRAM-SHA-256$4096:",
      "null",
      "null",
      "SCRAM-SHA-256$4096:",
    ]);
    await initDatabase({ adminUrl, rolePrefix: name });
    expect(await stored()).toEqual(before);
    await init();
    expect(await stored()).not.toEqual(before);
  });

  it("takes names that need quotes", async () => {
    const { name, adminUrl } = await setUp();
    const database = `${name} "q'`;
    dropWhenFinished([`"${database.replaceAll('"', '""')}"`], []);
    await initDatabase({ adminUrl, database, rolePrefix: name, passwords: { ...PASSWORDS, app: `it's \\ "%L$&` } });
    const app = await connect(
      Object.assign(new URL(superuserUrl()), {
        username: `${name}_app`,
        password: encodeURIComponent(`it's \\ "%L$&`),
        pathname: encodeURIComponent(database),
      }).href,
    );
    expect((await app.query("select current_database() as d")).rows).toEqual([{ d: database }]);
  });

  it("refuses an application's role that is there and may too much", async () => {
    const { name, init } = await setUp();
    await init({ adminUrl: superuserUrl(name) });
    for (const [attribute, reason] of [
      ["superuser", "is a superuser"],
      ["bypassrls", "has BYPASSRLS"],
      ["createrole", "has CREATEROLE"],
      ["createdb", "has CREATEDB"],
      ["replication", "has REPLICATION"],
    ]) {
      await asSuperuser(`alter role ${name}_app ${attribute}`);
      const error = await caught(init({ adminUrl: superuserUrl(name) }));
      expect(error).toBeInstanceOf(UnsafeRole);
      expect(error.message).toBe(
        `A role of this server could walk past row-level security: "${name}_app" ${reason}. ` +
          "Take that away from it, or choose another ROWHOUSE_ROLE_PREFIX.",
      );
      await asSuperuser(`alter role ${name}_app no${attribute}`);
    }
    // Control: without it the same role is taken over.
    await init({ adminUrl: superuserUrl(name) });
  });

  it("refuses a role that is a member of one with more rights, by whatever path", async () => {
    const { name, init } = await setUp();
    await init({ adminUrl: superuserUrl(name) });
    await asSuperuser(`create role ${name}_2_app`);
    await asSuperuser(`grant ${name}_owner to ${name}_2_app`);
    await asSuperuser(`grant ${name}_2_app to ${name}_app`);
    await asSuperuser(`grant pg_read_all_data to ${name}_worker`);
    const error = await caught(init({ adminUrl: superuserUrl(name) }));
    expect(error).toBeInstanceOf(UnsafeRole);
    expect(error.message).toContain(`"${name}_app" is a member of "${name}_owner", which owns the tables`);
    expect(error.message).toContain(
      `"${name}_worker" is a member of "pg_read_all_data", which is a predefined role of the server`,
    );
  });

  it.each(["", "Acme", "1acme", "pg", "pg_acme", "a".repeat(25), 'a"; drop'])(
    "refuses the role prefix %j",
    async (rolePrefix) => {
      const error = await caught(initDatabase({ adminUrl: superuserUrl(), rolePrefix, passwords: PASSWORDS }));
      expect(error).toBeInstanceOf(ConfigInvalid);
      expect(error.message).toContain(`The role prefix ${JSON.stringify(rolePrefix)} cannot be used.`);
    },
  );

  it("never repeats a password in an error", async () => {
    const { init } = await setUp();
    const error = await caught(init({ passwords: { ...PASSWORDS, app: "sécret" } }));
    expect(error).toBeInstanceOf(ConfigInvalid);
    expect(error.message).not.toContain("sécret");
  });
});
