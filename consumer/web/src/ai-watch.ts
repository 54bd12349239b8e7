// One run as UI message streams: one, or several after one another where it waits for approvals in between.

import { out } from "./ai-stream.js";
import type { Out } from "./ai-stream.js";
import type { Connection } from "./connection.js";
import { follow } from "./follow.js";
import { aborted } from "./turn.js";
import { mapper } from "./uimessages.js";
import type { Chunk } from "./uimessages.js";
import type { Fields } from "./uimessages-data.js";

export interface Watch {
  readonly runId: string;
  readonly connection: Connection;
  /** The approvals that wait for an answer. */
  approvals(): readonly string[];
  /** The outcome that says yes or no to an approval that waits, which counts as answered from then on; null for any other. */
  outcome(id: string, approved: boolean): Fields | null;
  /** A stream of what has not been told yet. With messageId it goes on with that message. Another stream of this run ends as aborted. */
  stream(messageId?: string): ReadableStream<Chunk>;
  /** Resolves once what had happened before is known, or nothing more will be. */
  caughtUp(): Promise<void>;
  /** Whether nobody reads: its stream is finished, or there has been none yet. */
  idle(): boolean;
  /** Ends its stream as aborted, and watches on. */
  abort(): void;
  /** Leaves the run, and ends its stream as aborted. */
  leave(): void;
}

export interface WatchOptions {
  /** The id of the message. */
  readonly messageId: string;
  /** Whether a stream is finished when the run waits for approvals. */
  readonly pauses: boolean;
  /** Whether what has happened so far is known to the client already. */
  readonly skips: boolean;
  /** Is told once it is over, and no stream is left. */
  readonly over: () => void;
}

export function watch(connection: Connection, runId: string, { messageId, pauses, skips, over: told }: WatchOptions): Watch {
  let reader: Out | null = null;
  let kept: Chunk[] = []; // what nobody has been told yet
  let over: { readonly error?: unknown } | null = null;
  let skipping = skips;
  let replaying = true; // what the connection has already is told in one go
  let timer: ReturnType<typeof setTimeout> | undefined;
  const waiting = new Set<() => void>();
  const answered = new Set<string>(); // approvals whose answers are under way
  const asks = (): readonly string[] => map.approvals().filter((id) => !answered.has(id));

  const map = mapper(messageId, (chunk) => {
    if (skipping) return;
    if (reader) reader.push(chunk);
    else kept.push(chunk);
  }, pauses);

  const unlisten = connection.subscribe(({ status }) => {
    if (status === "live") current();
  });
  let unfollow: (() => void) | undefined; // it may be over before there is one
  unfollow = follow(connection, runId, {
    event(event) {
      map.event(event);
      if (map.over) finish(); // of an error nothing more is read
      else if (!replaying && connection.state.status === "live") current();
    },
    end(end) {
      skipped();
      map.end(end);
      finish();
    },
    fail(error) {
      skipped();
      map.close();
      finish(error);
    },
  });
  replaying = false;
  if (over) unfollow();
  else if (connection.state.status === "live") current();

  /** From here on everything is told. What is open the client has closed. */
  function skipped(): void {
    if (skipping) map.close();
    skipping = false;
  }

  /** All that is known so far has been told. */
  function current(): void {
    skipped();
    settle();
    if (!pauses || timer !== undefined) return;
    timer = setTimeout(() => { // what came at the same time belongs to the question
      timer = undefined;
      pause();
    }, 0);
  }

  function pause(): void {
    if (!reader || over || asks().length === 0 || map.inputOpen()) return;
    map.close();
    reader.push({ type: "finish-step" });
    reader.push({ type: "finish", finishReason: "tool-calls" });
    reader.end();
    reader = null;
  }

  function settle(): void {
    for (const resolve of waiting) resolve();
    waiting.clear();
  }

  function finish(error?: unknown): void {
    if (over) return;
    over = { error };
    clearTimeout(timer);
    unfollow?.();
    unlisten();
    settle();
    connection.close();
    reader?.end(error);
    if (reader) told();
    reader = null;
  }

  return {
    runId,
    connection,
    approvals: asks,
    outcome(id, approved) {
      const outcome = map.outcome(id, approved);
      if (outcome) answered.add(id);
      return outcome;
    },
    stream(id) {
      reader?.end(aborted());
      const own = out(() => { if (reader === own) finish(); });
      reader = own;
      if (id !== undefined) own.push({ type: "start", messageId: id });
      for (const chunk of kept) own.push(chunk);
      kept = [];
      if (over) {
        own.end(over.error);
        reader = null;
        told();
      } else if (connection.state.status === "live") {
        current();
      }
      return own.stream;
    },
    caughtUp: () => new Promise((resolve) => {
      if (over || connection.state.status === "live") resolve();
      else waiting.add(resolve);
    }),
    idle: () => reader === null,
    abort() {
      reader?.end(aborted());
      reader = null;
    },
    leave() {
      finish(aborted());
      told();
    },
  };
}
