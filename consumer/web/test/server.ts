// A relay that does as a test says, and what a test waits with.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { TestContext } from "node:test";
import { connect as connectTo, type Connection } from "../src/index.js";
import type { Change, Options, State } from "../src/types.js";

// What a listener throws, say an assertion, fails its test.
globalThis.reportError = (err: unknown) => queueMicrotask(() => { throw err; });

export interface Asked {
  readonly n: number; // from 1
  readonly path: string;
  readonly body: Record<string, unknown>;
  readonly headers: IncomingMessage["headers"];
}

export interface Relay {
  readonly url: string;
  readonly asked: Asked[];
  /** How many answers to /chat/live are open, and how many were at most. */
  readonly open: { now: number; most: number };
  /** Breaks all connections off. */
  cut(): void;
  close(): Promise<void>;
}

/** Serves on loopback until the test ends. */
export async function relay(t: TestContext, answer: (asked: Asked, res: ServerResponse, req: IncomingMessage) => void): Promise<Relay> {
  const asked: Asked[] = [];
  const sockets = new Set<Socket>();
  const open = { now: 0, most: 0 };
  const server = createServer((req, res) => {
    let text = "";
    req.on("data", (part: Buffer) => { text += part.toString(); });
    req.on("end", () => {
      const a = { n: asked.length + 1, path: req.url ?? "", body: JSON.parse(text || "{}") as Record<string, unknown>, headers: req.headers };
      asked.push(a);
      if (a.path === "/chat/live") {
        open.most = Math.max(open.most, ++open.now);
        res.on("close", () => { open.now--; });
      }
      answer(a, res, req);
    });
  });
  server.on("connection", (s: Socket) => { sockets.add(s); s.on("close", () => sockets.delete(s)); s.on("error", () => {}); });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => { for (const s of sockets) s.destroy(); };
  const close = () => new Promise<void>((resolve) => { server.close(() => resolve()); cut(); });
  t.after(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, open, cut, close };
}

export const stream = (res: ServerResponse, headers: Record<string, string> = {}) => {
  res.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store", ...headers });
  res.flushHeaders();
  return res;
};

export const frame = (f: { run_id: string; seq: number; type: string }) => `id: ${f.run_id}:${f.seq}\ndata: ${JSON.stringify(f)}\n\n`;
export const delta = (text: string, id = "m") => ({ type: "TEXT_MESSAGE_CONTENT", messageId: id, delta: text });
export const snapshot = (run_id: string, seq: number, events: unknown[]) => frame({ type: "STREAM_SNAPSHOT", run_id, seq, events } as never);
export const event = (run_id: string, seq: number, e: unknown) => frame({ type: "STREAM_EVENT", run_id, seq, event: e } as never);
export const synced = (run_id: string, seq: number) => frame({ type: "STREAM_SYNCED", run_id, seq });
export const end = (run_id: string, seq: number, more: Record<string, unknown> = {}) =>
  frame({ type: "STREAM_END", run_id, seq, persisted: true, superseded: false, reason: "done", ...more } as never);
export const problem = (res: ServerResponse, status: number, code: string, headers: Record<string, string> = {}, more: Record<string, unknown> = {}) => {
  res.writeHead(status, { "Content-Type": "application/problem+json", ...headers }).end(JSON.stringify({ type: "about:blank", title: code, status, code, detail: `${code} it is`, ...more }));
};

/** A connection that waits only for milliseconds between attempts, and is closed with the test. */
export function connect(t: TestContext, url: string, options: Options = {}): Connection {
  const c = connectTo({ url, backoff: { first: 1, max: 5 }, ...options });
  t.after(() => c.close());
  return c;
}

/** Resolves once the state is as wanted. */
export function until(c: Connection, met: (s: State) => boolean, ms = 10_000): Promise<State> {
  return new Promise((resolve, reject) => {
    if (met(c.state)) return resolve(c.state);
    const timer = setTimeout(() => { stop(); reject(new Error(`still ${JSON.stringify(c.state)}`)); }, ms);
    const stop = c.subscribe((s) => {
      if (!met(s)) return;
      clearTimeout(timer);
      stop();
      resolve(s);
    });
  });
}

/** Resolves once something outside of a connection is so. */
export async function eventually(met: () => boolean, ms = 10_000): Promise<void> {
  for (const by = Date.now() + ms; !met(); await new Promise((f) => setTimeout(f, 5))) {
    if (Date.now() > by) throw new Error(`not within ${ms} ms: ${met.toString()}`);
  }
}

/** What the changes come to: the text shown, and each status passed through. */
export function watch(c: Connection) {
  const seen = { text: "", statuses: [] as string[], changes: [] as Change[], seqs: [] as number[] };
  const add = (e: { readonly type: string; readonly [field: string]: unknown }) => { if (e.type === "TEXT_MESSAGE_CONTENT") seen.text += String(e["delta"]); };
  c.subscribe((s, change) => {
    seen.changes.push(change);
    if (seen.statuses.at(-1) !== s.status) seen.statuses.push(s.status);
    if (change.type === "reset") { seen.text = ""; change.events.forEach(add); }
    if (change.type === "event") { add(change.event); seen.seqs.push(change.seq); }
  });
  return seen;
}

export const text = (events: readonly { readonly type: string; readonly [field: string]: unknown }[]) => events.map((e) => (e.type === "TEXT_MESSAGE_CONTENT" ? String(e["delta"]) : "")).join("");
