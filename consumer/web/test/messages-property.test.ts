import assert from "node:assert/strict";
import { test } from "node:test";
import { apply, nothing, reduce } from "../src/messages.js";
import type { Event } from "../src/types.js";

// A view does not depend on how a run was told: one by one, as a snapshot of any legal folding, or cut anywhere between.

/** Numbers that are the same for the same seed (mulberry32). */
function random(seed: number): (n: number) => number {
  return (n) => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
}

const ids = ["m1", "m2", "m3"];
const words = ["", "a", "é", "\ud83d", "\ude00", '{"x":', "1}", " \n"];
const kinds = [
  "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "TEXT_MESSAGE_CHUNK",
  "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END", "REASONING_MESSAGE_CHUNK", "THINKING_TEXT_MESSAGE_START",
  "THINKING_TEXT_MESSAGE_CONTENT", "THINKING_TEXT_MESSAGE_CONTENT", "THINKING_TEXT_MESSAGE_END", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_ARGS", "TOOL_CALL_END",
  "TOOL_CALL_RESULT", "TOOL_CALL_CHUNK", "STATE_SNAPSHOT", "STATE_DELTA", "STATE_DELTA", "MESSAGES_SNAPSHOT", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "CUSTOM", "RAW",
  "RUN_STARTED", "RUN_ERROR", "RUN_FINISHED", "INVENTED",
];

function run(seed: number, length: number): Event[] {
  const n = random(seed);
  const pick = <T>(of: readonly T[]): T => of[n(of.length)] as T;
  let last: Event | null = null;
  return Array.from({ length }, () => {
    const type = pick(kinds);
    // Neighbours that could be folded are frequent.
    if (last?.["delta"] !== undefined && typeof last["delta"] === "string" && n(2)) return (last = { ...last, delta: pick(words) });
    const id = pick(ids);
    const op = pick(["add", "remove", "replace", "test"]);
    const patch = [{ op, path: pick(["/a", "/b", "/a/b", "/l/-", "/l/0"]), value: pick([1, [1], {}]) }];
    const all: Record<string, unknown> = { messageId: n(4) || !type.endsWith("CHUNK") ? id : undefined, toolCallId: n(4) || !type.endsWith("CHUNK") ? id : undefined };
    if (type.startsWith("THINKING")) { delete all["messageId"]; delete all["toolCallId"]; }
    if (/CONTENT|ARGS|CHUNK/.test(type)) all["delta"] = pick(words);
    if (type === "STATE_DELTA") all["delta"] = patch;
    if (n(6) === 0) all["subagentRunId"] = pick(["s1", "s2"]);
    return (last = {
      type, ...all, role: pick(["user", "assistant", undefined]), toolCallName: pick(["f", "g"]), content: type === "TOOL_CALL_RESULT" ? pick(words) : { a: 1, l: [] }, patch, activityType: "plan",
      snapshot: { a: {}, l: [n(9)] }, messages: ids.slice(n(3)).map((i) => ({ id: i, role: "assistant", content: pick(words) })), message: "no",
      input: { messages: [{ id: "u", role: "user", content: "hi" }] }, name: pick(["x.request", "x.resolved", "y"]), value: { requestId: pick(["q1", "q2"]), status: pick(["pending", "accepted"]) },
    });
  });
}

const foldable = new Set(["TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "THINKING_TEXT_MESSAGE_CONTENT", "TOOL_CALL_ARGS"]);

/** Folds adjacent deltas, as of PROTOCOL.md, each only where `may` says so. */
function fold(events: readonly Event[], may: () => boolean): Event[] {
  const rest = ({ delta: _, ...e }: Event) => JSON.stringify(e);
  return events.reduce<Event[]>((out, e) => {
    const a = out.at(-1);
    const fits = a && foldable.has(e.type) && typeof a["delta"] === "string" && typeof e["delta"] === "string" && rest(a) === rest(e);
    if (a && fits && may()) out[out.length - 1] = { ...a, delta: String(a["delta"]) + String(e["delta"]) };
    else out.push(e);
    return out;
  }, []);
}

test("SEAM-06 DUP-01 the view is the same for every cut and every folding", () => {
  let folded = 0;
  for (let seed = 1; seed <= 150; seed++) {
    const events = run(seed, 60);
    const n = random(seed + 1000);
    const want = reduce(events);
    assert.deepEqual(events.reduce(apply, nothing), want, `seed ${seed}, one by one`);
    for (let cut = 0; cut <= events.length; cut++) {
      const snapshot = fold(events.slice(0, cut), () => cut % 2 === 0 || n(2) === 0);
      folded += cut - snapshot.length;
      assert.deepEqual(events.slice(cut).reduce(apply, reduce(snapshot)), want, `seed ${seed}, cut at ${cut}`);
    }
  }
  assert.ok(folded > 10_000, `${folded} events were folded`);
});

test("no event changes a view that somebody holds", () => {
  for (let seed = 1; seed <= 20; seed++) {
    let view = nothing;
    for (const e of run(seed, 80)) {
      const before = JSON.stringify(view);
      const next = apply(view, e);
      assert.equal(JSON.stringify(view), before);
      view = next;
    }
  }
});

test("200 messages and 100,000 events are reduced at once, and told apart by their keys", () => {
  const events: Event[] = Array.from({ length: 100_000 }, (_, i) => ({ type: "TEXT_MESSAGE_CONTENT", messageId: `m${i % 200}`, delta: "x" }));
  const { messages } = reduce(events);
  assert.equal(messages.length, 200);
  assert.ok(messages.every((m) => m.kind === "assistant" && m.text === "x".repeat(500)));
});
