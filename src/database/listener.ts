import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

export interface ListenerOptions {
  /** Past any transaction pooler: LISTEN belongs to a session. */
  readonly url: string;
  readonly channel: string;
  readonly applicationName: string;
  /** Called for each notification, and whenever the connection is new: something may have been missed. */
  readonly onWake: () => void;
  readonly onError: (error: unknown) => void;
}

export interface Listener {
  close(): Promise<void>;
}

/** How often the session is asked whether it still listens, in milliseconds: a socket that is half open says nothing. */
const HEARTBEAT_MS = 10_000;
const TIMEOUT_MS = 5_000;
const RETRY_MS = 1_000;

/** Listens on a channel, on a connection of its own that does nothing else, until it is closed. Never gives up. */
export function listenOn({ url, channel, applicationName, onWake, onError }: ListenerOptions): Listener {
  const closing = new AbortController();
  let client: pg.Client | undefined;

  async function session(): Promise<void> {
    client = new pg.Client({
      connectionString: url,
      application_name: applicationName,
      keepAlive: true,
      connectionTimeoutMillis: TIMEOUT_MS,
      query_timeout: TIMEOUT_MS,
    });
    const lost = new Promise<never>((_, reject) => {
      client!.on("error", reject);
      client!.on("end", () => reject(new Error("the listener's connection has ended")));
    });
    lost.catch(() => {});
    client.on("notification", onWake);
    await client.connect();
    await client.query(`listen ${client.escapeIdentifier(channel)}`);
    onWake();
    for (;;) {
      await Promise.race([sleep(HEARTBEAT_MS, undefined, { signal: closing.signal }), lost]);
      const { rows } = await client.query<{ channel: string }>("select pg_listening_channels() as channel");
      if (!rows.some((row) => row.channel === channel))
        throw new Error(`the session does not listen on ${channel} any more`);
    }
  }

  const running = (async () => {
    while (!closing.signal.aborted) {
      try {
        await session();
      } catch (error) {
        if (!closing.signal.aborted) onError(error);
      }
      await client?.end().catch(() => {});
      await sleep(RETRY_MS, undefined, { signal: closing.signal }).catch(() => {});
    }
  })();

  return {
    async close() {
      closing.abort();
      await running;
    },
  };
}
