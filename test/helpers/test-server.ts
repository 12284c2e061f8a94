import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { startEmbeddedPostgres } from "../../src/database/embedded.ts";

export interface TestServer {
  /** An administrator's URL, a superuser's where we started the server. */
  readonly adminUrl: string;
  stop(): Promise<void>;
}

/** TEST_DATABASE_URL's server, else a container with TEST_POSTGRES=container, else an embedded one in a throw-away folder. */
export async function startTestServer(): Promise<TestServer> {
  const { TEST_DATABASE_URL: given, TEST_POSTGRES: kind } = process.env;
  if (given) return { adminUrl: given, stop: async () => {} };
  if (kind === "container") return startContainer();
  if (kind) throw new Error(`TEST_POSTGRES=${kind} is not known: the one value it may have is "container"`);
  return startEmbedded();
}

async function startContainer(): Promise<TestServer> {
  const { GenericContainer, Wait } = await import("testcontainers");
  const password = randomBytes(12).toString("hex");
  const container = await new GenericContainer("postgres:18")
    .withEnvironment({ POSTGRES_PASSWORD: password })
    .withCommand(["postgres", "-c", "fsync=off", "-c", "full_page_writes=off"])
    .withExposedPorts(5432)
    // The image starts the server twice: first for itself, to set it up.
    .withWaitStrategy(Wait.forLogMessage("database system is ready to accept connections", 2))
    .start();
  const address = `${container.getHost()}:${container.getMappedPort(5432)}`;
  return {
    adminUrl: `postgres://postgres:${password}@${address}/postgres`,
    stop: async () => void (await container.stop()),
  };
}

async function startEmbedded(): Promise<TestServer> {
  const directory = path.join(tmpdir(), `rowhouse-test-${randomBytes(6).toString("hex")}`);
  const cleaner = cleanUpAfterDeath(directory);
  try {
    const server = await startEmbeddedPostgres({ directory, fsync: false });
    return {
      adminUrl: server.urls.superuser,
      async stop() {
        await server.stop();
        await rm(directory, { recursive: true, force: true });
        cleaner.stdin?.end();
      },
    };
  } catch (error) {
    cleaner.stdin?.end();
    throw error;
  }
}

// Reads until this process is gone, however it ended. After an orderly end there is nothing left to do.
const CLEANER = `
  cat > /dev/null
  pid_file="$0/postgres/data/postmaster.pid"
  if [ -f "$pid_file" ]; then kill -INT "$(head -n 1 "$pid_file")"; fi
  while [ -f "$pid_file" ]; do sleep 0.1; done
  rm -rf "$0"
`;

/** Nobody would ever join the server of a killed test run, or use its folder. */
function cleanUpAfterDeath(directory: string): ChildProcess {
  const cleaner = spawn("sh", ["-c", CLEANER, directory], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  // Where there is no sh, a killed run leaves them.
  cleaner.once("error", () => {});
  cleaner.unref();
  return cleaner;
}
