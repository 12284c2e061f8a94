import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { MigrationInvalid } from "../errors.ts";
import { sql, type SqlPath } from "../generated/sql.ts";
import { splitStatements, type Statement } from "./split-statements.ts";

/** A folder of migrations, as drizzle-kit writes it. */
export interface MigrationFolder {
  /** First half of its migrations' ids. It must never change: lower-case letters, digits and "-". */
  readonly source: string;
  readonly path: string;
}

export interface Migration {
  /** `<source>/<file name>`. */
  readonly id: string;
  readonly source: string;
  /** SHA-256 of the text with LF line ends, in hex. */
  readonly checksum: string;
  readonly statements: readonly Statement[];
  /** False when its first line says so: statements that PostgreSQL refuses inside a transaction. */
  readonly isTransactional: boolean;
}

const FRAMEWORK = "rowhouse";
const FRAMEWORK_FOLDER = "db/migrations/";
const SOURCE = /^[a-z][a-z0-9-]*$/;
const FILE_NAME = /^(\d{4,})_[\w.-]+\.sql$/;
const NO_TRANSACTION = /^-- *rowhouse: *no transaction *$/;

export const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** The migrations that come with Rowhouse, in order. */
export function frameworkMigrations(): Migration[] {
  return Object.keys(sql)
    .filter((file) => file.startsWith(FRAMEWORK_FOLDER))
    .map((file) => parseMigration(FRAMEWORK, file.slice(FRAMEWORK_FOLDER.length), sql[file as SqlPath]));
}

/**
 * Reads a folder's migrations in the order of their numbers. Other files and folders (drizzle-kit's `meta/`) are ignored.
 * @throws MigrationInvalid when the folder cannot be read or a .sql file is not named `NNNN_name.sql`
 */
export async function readMigrations({ source, path: folder }: MigrationFolder): Promise<Migration[]> {
  if (!SOURCE.test(source) || source === FRAMEWORK) {
    throw new MigrationInvalid(
      `${JSON.stringify(source)} cannot be the source of migrations: it must be lower-case letters, digits and "-", ` +
        `and not "${FRAMEWORK}".`,
    );
  }
  const names = await readdir(folder).catch((error: unknown) => {
    throw new MigrationInvalid(`The migrations folder ${folder} cannot be read. Create it, or correct the path.`, {
      cause: error,
    });
  });
  const files = names.filter((name) => name.endsWith(".sql")).sort(byNumber);
  return Promise.all(
    files.map(async (name) => parseMigration(source, name, await readFile(path.join(folder, name), "utf8"))),
  );
}

function byNumber(left: string, right: string): number {
  const difference = numberOf(left) - numberOf(right);
  if (difference !== 0n) return difference < 0n ? -1 : 1;
  return left < right ? -1 : 1;
}

function numberOf(name: string): bigint {
  const number = FILE_NAME.exec(name)?.[1];
  if (number !== undefined) return BigInt(number);
  throw new MigrationInvalid(
    `The migration file ${name} is not named like 0001_create_orders.sql: its number decides when it runs. ` +
      "Rename it, or move it out of the folder.",
  );
}

function parseMigration(source: string, name: string, content: string): Migration {
  const id = `${source}/${name}`;
  numberOf(name);
  // Whatever git or an editor made of the line ends, it is the same migration.
  const text = content.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
  const statements = splitStatements(text);
  refuseTransactionControl(id, statements);
  const isTransactional = !NO_TRANSACTION.test(text.split("\n", 1)[0]!);
  return { id, source, checksum: sha256(text), statements, isTransactional };
}

const TRANSACTION_CONTROL = /^(begin|commit|rollback(?!\s+to)|abort|end|start\s+transaction|prepare\s+transaction)\b/i;

function refuseTransactionControl(id: string, statements: readonly Statement[]): void {
  const found = statements.find((statement) => TRANSACTION_CONTROL.test(statement.text));
  if (!found) return;
  throw new MigrationInvalid(
    `Migration ${id}, line ${found.line}, controls the transaction itself (${found.text.slice(0, 40)}). Each file runs in ` +
      'one already: remove the statement, or make "-- rowhouse: no transaction" the first line to run without.',
  );
}
