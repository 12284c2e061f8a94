/** The part of an answer that is kept in memory until it may leave. */
export interface HeldBody {
  chunks: (string | Uint8Array)[];
  /** In bytes. */
  size: number;
}

/** @throws TypeError (ERR_INVALID_ARG_TYPE, as Node would) for anything but text and bytes */
export function addChunk(body: HeldBody, chunk: unknown, encoding: unknown): void {
  const kept = keepable(chunk, encoding);
  body.chunks.push(kept);
  body.size += Buffer.byteLength(kept);
}

/** Hands over what is kept, with as few copies as can be, and keeps nothing. */
export function takeBody(body: HeldBody): string | Uint8Array | undefined {
  const taken = body.chunks.length > 1 ? copyBody(body) : body.chunks[0];
  body.chunks = [];
  body.size = 0;
  return taken;
}

export function copyBody({ chunks }: HeldBody): Buffer {
  return Buffer.concat(chunks.map((chunk) => (typeof chunk === "string" ? Buffer.from(chunk) : chunk)));
}

/** UTF-8 text stays text: Node writes it and the head in one piece. */
function keepable(chunk: unknown, encoding: unknown): string | Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  if (typeof chunk !== "string") {
    throw Object.assign(new TypeError("A chunk must be a string, a Buffer or a Uint8Array."), {
      code: "ERR_INVALID_ARG_TYPE",
    });
  }
  const isUtf8 = typeof encoding !== "string" || encoding === "utf8" || encoding === "utf-8";
  return isUtf8 ? chunk : Buffer.from(chunk, encoding as BufferEncoding);
}
