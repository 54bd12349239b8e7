import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "../src/index.js";
import { unseen } from "../src/unseen.js";

const text = (messageId: string, delta: string, timestamp?: number): Event => ({ type: "TEXT_MESSAGE_CONTENT", messageId, delta, ...(timestamp && { timestamp }) });

/** A run with what folds and what must not: two messages at once, patches, empty deltas, arguments. */
const events: readonly Event[] = [
  { type: "RUN_STARTED" }, { type: "TEXT_MESSAGE_START", messageId: "a" }, text("a", "x", 1), text("a", "", 2), text("a", "yz", 3),
  { type: "TEXT_MESSAGE_START", messageId: "b" }, text("b", "1"), text("a", "w"), text("b", "2"), text("b", "2"),
  { type: "STATE_DELTA", delta: [{ op: "add", path: "/-", value: 1 }] }, { type: "STATE_DELTA", delta: [{ op: "add", path: "/-", value: 1 }] },
  { type: "TOOL_CALL_ARGS", toolCallId: "a", delta: "{" }, { type: "TOOL_CALL_ARGS", toolCallId: "a", delta: "}" }, text("a", "\ud83d"), text("a", "\ude00"),
  { type: "CUSTOM", name: "n", value: { delta: "x" } }, { type: "CUSTOM", name: "n", value: { delta: "x" } }, { type: "RUN_FINISHED" },
];

/** Joins neighbours, from each of which at most `most` are one: relays bound what they merge. */
function fold(list: readonly Event[], most = Infinity): Event[] {
  const out: { event: Event; count: number }[] = [];
  for (const event of list) {
    const before = out.at(-1);
    const id = event["messageId"] ?? event["toolCallId"];
    const joins = typeof event["delta"] === "string" && before?.event.type === event.type && (before.event["messageId"] ?? before.event["toolCallId"]) === id;
    if (before && joins && before.count < most) {
      before.event = { ...before.event, delta: String(before.event["delta"]) + String(event["delta"]) };
      before.count++;
    } else {
      out.push({ event, count: 1 });
    }
  }
  return out.map(({ event }) => event);
}

const bare = (list: readonly Event[]): Event[] => fold(list).map(({ timestamp: _, ...event }) => event as Event);

test("what follows a held fold in a snapshot is the rest, for every two cuts and folds", () => {
  for (let k = 0; k <= events.length; k++) {
    for (let j = 0; j <= k; j++) {
      for (const [mine, theirs] of [[1, Infinity], [Infinity, 1], [2, Infinity], [Infinity, Infinity], [1, 2]]) {
        const held = fold(events.slice(0, j), mine);
        const rest = unseen(held, fold(events.slice(0, k), theirs));
        assert.ok(rest, `${j} of ${k}`);
        assert.deepEqual(bare([...held, ...rest]), bare(events.slice(0, k)), `${j} of ${k}`);
        if (j === k) assert.equal(rest.map(({ delta }) => delta ?? "!").join(""), "");
      }
    }
  }
});

test("a snapshot that is shorter, or another, is none", () => {
  assert.equal(unseen([text("a", "xy")], [text("a", "x")]), null);
  assert.equal(unseen([text("a", "x")], []), null);
  assert.equal(unseen([text("a", "x")], [text("b", "x")]), null);
  assert.equal(unseen([text("a", "x"), { type: "TEXT_MESSAGE_END", messageId: "a" }], [text("a", "xy"), { type: "TEXT_MESSAGE_END", messageId: "a" }]), null);
  assert.deepEqual(unseen([], [text("a", "x")]), [text("a", "x")]);
});
