// A relay for tests, as a fetch: it serves runs in protocol 1, and does to streams what a test says.

import type { End, Event } from "../src/index.js";

interface Run {
  readonly id: string;
  readonly chat: string;
  readonly events: Event[];
  end: End | null;
}

interface Stream {
  run: Run;
  seq: number;
  synced: boolean;
  readonly out: ReadableStreamDefaultController<Uint8Array>;
}

export interface Request {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Headers;
}

const encoder = new TextEncoder();
const saved: End = { persisted: true, superseded: false, reason: "done" };

export class Relay {
  readonly requests: Request[] = [];
  /** Looks at a request first; what it answers is the answer, what it throws is a lost network. */
  intercept: (request: Request) => Response | undefined = () => undefined;
  /** Whether each stream begins with a snapshot, as for a cursor that is of no use. */
  snapshots = false;
  private readonly runs = new Map<string, Run>();
  private readonly tokens = new Map<string, string>();
  private streams: Stream[] = [];
  private count = 0;

  /** The agent: is told of each run that a message starts. */
  onSend: (run: string, input: Readonly<Record<string, unknown>>) => void = () => {};
  onAnswer: (run: string, request: string, outcome: unknown) => string | undefined = () => undefined;

  readonly fetch = async (input: string | URL | globalThis.Request, init?: RequestInit): Promise<Response> => {
    const url = new URL(input instanceof globalThis.Request ? input.url : String(input), "http://relay");
    const body = init?.body ? (JSON.parse(String(init.body)) as Record<string, unknown>) : {};
    const request = { path: url.pathname, body, headers: new Headers(init?.headers) };
    await Promise.resolve();
    init?.signal?.throwIfAborted();
    this.requests.push(request);
    return this.intercept(request) ?? this.answer(request, init?.signal ?? null);
  };

  /** How many requests there were to a path. */
  asked(path: string): number {
    return this.requests.filter((request) => request.path === path).length;
  }

  begin(chat: string, queued = false): string {
    const before = this.newest(chat);
    const id = `run-${++this.count}`;
    this.runs.set(id, { id, chat, events: [], end: null });
    if (!queued && before && !before.end) this.end(before.id, { persisted: false, superseded: true, reason: "superseded", nextRunId: id });
    return id;
  }

  say(id: string, ...events: Event[]): void {
    this.get(id).events.push(...events);
    this.serve();
  }

  /** Makes a run's events others than they were. */
  rewrite(id: string, events: Event[]): void {
    this.get(id).events.splice(0, Infinity, ...events);
  }

  end(id: string, end: Partial<End> = {}): void {
    this.get(id).end = { ...saved, ...end };
    this.serve();
  }

  /** Breaks all streams, as a network does: with an error, or with a proper end of the response. */
  cut(clean = false): void {
    for (const stream of this.streams.splice(0)) {
      if (clean) stream.out.close();
      else stream.out.error(new TypeError("network error"));
    }
  }

  /** Sends a snapshot into the streams that are open. */
  snapshot(): void {
    for (const stream of this.streams) this.send(stream, snapshotOf(stream.run));
  }

  /** Sends the last events once more. */
  repeat(count: number): void {
    for (const { run, out } of this.streams) {
      for (let seq = Math.max(1, run.events.length - count + 1); seq <= run.events.length; seq++) write(out, eventOf(run, seq));
    }
  }

  get open(): number {
    return this.streams.length;
  }

  private answer({ path, body }: Request, signal: AbortSignal | null): Response {
    const chat = String(body["chat_id"]);
    switch (path) {
      case "/chat/send":
        return this.take(chat, body);
      case "/chat/live":
        return this.live(chat, body, signal);
      case "/chat/stop": {
        const run = this.get(String(body["run_id"]));
        if (!run.end) this.end(run.id, { persisted: false, reason: "stopped" });
        return json(202, { status: "stopping", run_id: run.id });
      }
      case "/chat/answer": {
        const next = this.onAnswer(String(body["run_id"]), String(body["request_id"]), body["outcome"]);
        return json(200, { status: "accepted", ...(next && { run_id: next }) });
      }
      default:
        return json(404, { code: "not_found", title: "no such route", status: 404 });
    }
  }

  private take(chat: string, body: Readonly<Record<string, unknown>>): Response {
    const token = String(body["client_token"]);
    let id = this.tokens.get(token);
    if (id === undefined) {
      const active = this.newest(chat);
      if (active && !active.end && body["on_active"] === undefined) {
        return json(409, { code: "already_streaming", title: "a run is under way", status: 409, run_id: active.id });
      }
      id = this.begin(chat, body["on_active"] === "queue");
      this.tokens.set(token, id);
      this.onSend(id, body["input"] as Record<string, unknown>);
    }
    return json(202, { chat_id: chat, turn_id: `turn-${id}`, run_id: id });
  }

  private live(chat: string, body: Readonly<Record<string, unknown>>, signal: AbortSignal | null): Response {
    const asked = body["run_id"] === undefined ? undefined : this.runs.get(String(body["run_id"]));
    const newest = this.newest(chat);
    const run = asked && newest && asked !== newest && asked.end ? newest : (asked ?? newest);
    if (!run || (asked === undefined && run.end)) return new Response(null, { status: 204 });
    const after = asked === run && !this.snapshots ? Number(body["after_seq"] ?? 0) : 0;
    const relay = this;
    let it: Stream;
    const stream = new ReadableStream<Uint8Array>({
      start(out) {
        it = { run, seq: after, out, synced: true };
        relay.streams.push(it);
        signal?.addEventListener("abort", () => {
          relay.leave(it);
          try { out.error(signal.reason); } catch { /* it is over */ }
        });
        if (after === 0) relay.send(it, snapshotOf(run));
        it.synced = !body["synced"];
        relay.serve();
      },
      cancel() {
        relay.leave(it);
      },
    });
    return new Response(stream, { status: 200, headers: { "content-type": "text/event-stream", "rejoin-run-id": run.id } });
  }

  private serve(): void {
    for (const stream of [...this.streams]) {
      const { run, out } = stream;
      while (stream.seq < run.events.length) write(out, eventOf(run, ++stream.seq));
      if (!stream.synced) write(out, { type: "STREAM_SYNCED", run_id: run.id, seq: stream.seq });
      stream.synced = true;
      if (!run.end) continue;
      write(out, endOf(run, run.end));
      this.leave(stream);
      out.close();
    }
  }

  private send(stream: Stream, frame: Frame): void {
    write(stream.out, frame);
    stream.seq = frame.seq;
  }

  private leave(stream: Stream): void {
    this.streams = this.streams.filter((it) => it !== stream);
  }

  private newest(chat: string): Run | undefined {
    return [...this.runs.values()].filter((run) => run.chat === chat).at(-1);
  }

  private get(id: string): Run {
    const run = this.runs.get(id);
    if (!run) throw new Error(`no run ${id}`);
    return run;
  }
}

type Frame = { type: string; run_id: string; seq: number } & Record<string, unknown>;

function eventOf(run: Run, seq: number): Frame {
  return { type: "STREAM_EVENT", run_id: run.id, seq, event: run.events[seq - 1] };
}

/** Neighbouring text is one event, as in a relay's snapshots. */
function snapshotOf(run: Run): Frame {
  const events: Event[] = [];
  for (const event of run.events) {
    const before = events.at(-1);
    if (before?.type === "TEXT_MESSAGE_CONTENT" && event.type === before.type && before["messageId"] === event["messageId"]) {
      events[events.length - 1] = { ...before, delta: String(before["delta"]) + String(event["delta"]) };
    } else {
      events.push(event);
    }
  }
  return { type: "STREAM_SNAPSHOT", run_id: run.id, seq: run.events.length, events };
}

function endOf(run: Run, end: End): Frame {
  const { nextRunId, ...rest } = end;
  return { type: "STREAM_END", run_id: run.id, seq: run.events.length, ...rest, ...(nextRunId && { next_run_id: nextRunId }) };
}

function write(out: ReadableStreamDefaultController<Uint8Array>, frame: Frame): void {
  out.enqueue(encoder.encode(`id: ${frame.run_id}:${frame.seq}\ndata: ${JSON.stringify(frame)}\n\n`));
}

function json(status: number, body: unknown): Response {
  return new Response(JSON.stringify(body), { status, headers: { "content-type": status < 300 ? "application/json" : "application/problem+json" } });
}

/** The events of an answer, its text in the pieces given. */
export function answer(runId: string, threadId: string, pieces: readonly string[], messageId = `m-${runId}`): Event[] {
  return [
    { type: "RUN_STARTED", threadId, runId },
    { type: "TEXT_MESSAGE_START", messageId, role: "assistant" },
    ...pieces.map((delta) => ({ type: "TEXT_MESSAGE_CONTENT", messageId, delta })),
    { type: "TEXT_MESSAGE_END", messageId },
    { type: "RUN_FINISHED", threadId, runId },
  ];
}

/** Resolves once the condition holds; fails loudly after some seconds. */
export async function until(condition: () => boolean, what = "the condition"): Promise<void> {
  for (let i = 0; i < 2_000; i++) {
    if (condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`${what} did not come to hold`);
}
