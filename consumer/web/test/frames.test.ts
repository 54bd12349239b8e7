// The vectors that the Go client plays too, in consumer/testdata/frames.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { type Frame, Malformed, parseFrame } from "../src/frames.js";
import { position } from "../src/position.js";
import { decoder } from "../src/sse.js";

interface Case {
  name: string;
  stream?: string;
  stream_base64?: string;
  cursor?: { run_id: string; after_seq: number };
  max_message?: number;
  frames: unknown[];
  retry?: number;
  outcome: string;
}

const folder = new URL("../../../testdata/frames/", import.meta.url);

/** What a client makes of a body that comes in the pieces given. */
function play(c: Case, pieces: Uint8Array[]) {
  const sse = decoder(c.max_message ?? 64 << 20);
  const at = position();
  if (c.cursor) at.start(c.cursor.run_id, c.cursor.after_seq);
  const text = new TextDecoder();
  const frames: unknown[] = [];
  let outcome = "cut";
  try {
    for (const piece of pieces) {
      const more = sse.push(text.decode(piece, { stream: true }), (event, data) => {
        if (event && event !== "message") return true;
        const f = parseFrame(data);
        if (!f || at.apply(f) === "old") return true;
        frames.push(known(f));
        if (f.type !== "STREAM_END") return true;
        outcome = "ended";
        return false;
      });
      if (!more) break;
    }
  } catch (err) {
    if (!(err instanceof Malformed) && !(err instanceof RangeError)) throw err;
    outcome = err instanceof Malformed ? "malformed" : "too_large";
  }
  return { frames, outcome, retry: sse.retry() || undefined };
}

/** A frame without the members that the contract does not know. */
function known(f: Frame): unknown {
  const { type, run_id, seq } = f;
  switch (f.type) {
    case "STREAM_SNAPSHOT": return { type, run_id, seq, events: f.events };
    case "STREAM_EVENT": return { type, run_id, seq, event: f.event };
    case "STREAM_SYNCED": return { type, run_id, seq };
    case "STREAM_END": return { type, run_id, seq, persisted: f.persisted, superseded: f.superseded, reason: f.reason, ...(typeof f.next_run_id === "string" ? { next_run_id: f.next_run_id } : {}) };
  }
}

for (const file of readdirSync(folder).filter((name) => name.endsWith(".json"))) {
  const c = JSON.parse(readFileSync(new URL(file, folder), "utf8")) as Case;
  test(c.name, () => {
    const body = c.stream_base64 === undefined ? new TextEncoder().encode(c.stream) : Uint8Array.from(Buffer.from(c.stream_base64, "base64"));
    const want = { frames: c.frames, outcome: c.outcome, retry: c.retry };
    assert.deepEqual(play(c, [body]), want, "whole");
    assert.deepEqual(play(c, [...body].map((b) => Uint8Array.of(b))), want, "byte by byte");
    for (let i = 0; i <= body.length; i++) assert.deepEqual(play(c, [body.slice(0, i), body.slice(i)]), want, `split at ${i}`);
  });
}
