import assert from "node:assert/strict";
import { test } from "node:test";
import { apply, nothing, reduce, type Message, type View } from "../src/messages.js";
import type { Event } from "../src/types.js";

const ev = (type: string, fields: Record<string, unknown> = {}): Event => ({ type, ...fields });
const start = (messageId: string, role?: string) => ev("TEXT_MESSAGE_START", { messageId, ...(role && { role }) });
const say = (messageId: string, delta: string) => ev("TEXT_MESSAGE_CONTENT", { messageId, delta });
const end = (messageId: string) => ev("TEXT_MESSAGE_END", { messageId });
const args = (toolCallId: string, delta: string) => ev("TOOL_CALL_ARGS", { toolCallId, delta });
const assistant = (id: string, text: string, complete = true): Message => ({ kind: "assistant", id, text, complete });

/** One by one and all at once come to the same. */
function view(...events: Event[]): View {
  const one = events.reduce(apply, nothing);
  assert.deepEqual(one, reduce(events));
  return one;
}
const messages = (...events: Event[]) => view(...events).messages;

test("a text", () => {
  assert.deepEqual(messages(start("m"), say("m", "a"), say("m", "b")), [assistant("m", "ab", false)]);
  assert.deepEqual(messages(start("m"), say("m", "a"), end("m"), start("m")), [assistant("m", "a")]);
  assert.deepEqual(messages(start("u", "user"), say("u", "hi"), end("u")), [{ kind: "user", id: "u", text: "hi" }]);
  assert.deepEqual(messages(start("s", "system"), say("s", "be kind"), end("s")), []);
});

test("CMP-01 interleaved messages keep their texts and the order in which they appeared", () => {
  const got = messages(
    start("m1"), say("m1", "a"), ev("TOOL_CALL_START", { toolCallId: "t1", toolCallName: "read", parentMessageId: "m1" }), args("t1", "{"),
    say("m1", "b"), start("m2"), say("m2", "x"), args("t1", "}"), say("m1", "c"), ev("TOOL_CALL_END", { toolCallId: "t1" }),
    ev("TOOL_CALL_RESULT", { messageId: "r", toolCallId: "t1", content: "done" }), end("m2"), end("m1"),
  );
  assert.deepEqual(got, [assistant("m1", "abc"), { kind: "tool", id: "t1", name: "read", args: "{}", result: "done", complete: true }, assistant("m2", "x")]);
});

test("an id shared by a thought, a call, an activity and an answer is four messages", () => {
  const got = messages(ev("REASONING_MESSAGE_START", { messageId: "x" }), ev("REASONING_MESSAGE_CONTENT", { messageId: "x", delta: "thought" }),
    ev("REASONING_MESSAGE_END", { messageId: "x" }), start("x"), say("x", "ANSWER"), args("x", "{}"),
    ev("ACTIVITY_SNAPSHOT", { messageId: "x", activityType: "plan", content: { n: 1 } }));
  assert.deepEqual(got.map((m) => [m.kind, m.id, "text" in m ? m.text : ""]),
    [["reasoning", "x", "thought"], ["assistant", "x", "ANSWER"], ["tool", "x", ""], ["activity", "x", ""]]);
});

test("SEAM-06 DUP-02 a delta without its START makes its own message, and touches no other", () => {
  assert.deepEqual(messages(start("a1"), say("a1", "old"), end("a1"), say("m2", "new")), [assistant("a1", "old"), assistant("m2", "new", false)]);
  assert.deepEqual(messages(args("t", "1}")), [{ kind: "tool", id: "t", name: "", args: "1}", result: null, complete: false }]);
  assert.deepEqual(messages(ev("REASONING_MESSAGE_CONTENT", { messageId: "r", delta: "hm" })), [{ kind: "reasoning", id: "r", text: "hm", complete: false }]);
});

test("CMP-03 a tool's arguments stay the text they were, and an unfinished call is unfinished", () => {
  for (const text of ['{"a":1e400,"b":9007199254740993,"a":2 }  ', '{"caf\\u00e9":"\ud83d\ude00"', "", "{oops"]) {
    const cut = [...Array(text.length).keys()].map((i) => args("t", text.charAt(i)));
    const [m] = messages(ev("TOOL_CALL_START", { toolCallId: "t", toolCallName: "x" }), ...cut);
    assert.deepEqual(m, { kind: "tool", id: "t", name: "x", args: text, result: null, complete: false });
  }
});

test("UNI a surrogate pair split over two deltas is one character", () => {
  assert.deepEqual(messages(say("m", "\ud83d"), say("m", "\ude00")), [assistant("m", "😀", false)]);
});

test("chunks carry their ids from one to the next, and end with what is not a chunk", () => {
  const c = (fields: Record<string, unknown>) => ev("TEXT_MESSAGE_CHUNK", fields);
  assert.deepEqual(messages(c({ messageId: "m", delta: "a" }), c({ delta: "b" })), [assistant("m", "ab", false)]);
  assert.deepEqual(messages(c({ messageId: "m", delta: "a" }), c({ messageId: "n", delta: "b" }), c({ delta: "c" })), [assistant("m", "a"), assistant("n", "bc", false)]);
  assert.deepEqual(messages(c({ messageId: "m", delta: "a" }), ev("RAW", { event: 1 }), ev("INVENTED"), c({ delta: "b" })), [assistant("m", "ab", false)]);
  assert.deepEqual(messages(c({ messageId: "m", delta: "a" }), ev("RUN_FINISHED")), [assistant("m", "a")]);
  assert.deepEqual(messages(c({ messageId: "m", delta: "a" }), ev("CUSTOM", { name: "x", value: 1 }), c({ delta: "b" })), [assistant("m", "ab", false)]);
  assert.deepEqual(messages(c({ delta: "whose?" })), []);
  assert.deepEqual(
    messages(ev("TOOL_CALL_CHUNK", { toolCallId: "t", toolCallName: "x", delta: "{" }), ev("TOOL_CALL_CHUNK", { delta: "}" }), ev("REASONING_MESSAGE_CHUNK", { messageId: "r", delta: "a" }), ev("REASONING_MESSAGE_CHUNK", { delta: "b" })),
    [{ kind: "tool", id: "t", name: "x", args: "{}", result: null, complete: true }, { kind: "reasoning", id: "r", text: "ab", complete: false }]);
});

test("chunks of two subagents do not mix", () => {
  const c = (subagentRunId: string | undefined, messageId: string | undefined, delta: string) => ev("TEXT_MESSAGE_CHUNK", { subagentRunId, messageId, delta });
  assert.deepEqual(messages(c(undefined, "m", "1"), c("s", "n", "a"), c(undefined, undefined, "2"), c("s", undefined, "b")),
    [assistant("m", "12", false), assistant("n", "ab", false)]);
});

test("thinking of older agents", () => {
  const t = (delta: string) => ev("THINKING_TEXT_MESSAGE_CONTENT", { delta });
  assert.deepEqual(
    messages(ev("THINKING_START"), ev("THINKING_TEXT_MESSAGE_START"), t("a"), t("b"), ev("THINKING_TEXT_MESSAGE_END"), ev("THINKING_END"), t("c")),
    [{ kind: "reasoning", id: "thought-1", text: "ab", complete: true }, { kind: "reasoning", id: "thought-2", text: "c", complete: false }]);
});

test("RUN_STARTED brings the messages that are not there yet, where they belong", () => {
  const input = { messages: [
    { id: "s", role: "system", content: "be kind" }, { id: "u1", role: "user", content: [{ type: "text", text: "a" }, { type: "image" }, { type: "text", text: "b" }] },
    { id: "a1", role: "assistant", content: "", toolCalls: [{ id: "t1", type: "function", function: { name: "f", arguments: "{}" } }] },
    { id: "r1", role: "tool", toolCallId: "t1", content: "ok" }, { id: "u2", role: "user", content: "two" },
  ], state: { n: 1 } };
  const v = view(ev("RUN_STARTED", { input }), say("a2", "yes"));
  assert.deepEqual(v.messages, [
    { kind: "user", id: "u1", text: "ab" }, { kind: "tool", id: "t1", name: "f", args: "{}", result: "ok", complete: true },
    { kind: "user", id: "u2", text: "two" }, assistant("a2", "yes", false)]);
  assert.deepEqual(v.state, { n: 1 });
  assert.deepEqual(messages(start("u2", "user"), say("u2", "mine"), ev("RUN_STARTED", { input })).map((m) => m.id), ["u1", "t1", "u2"]);
  assert.deepEqual(messages(ev("RUN_STARTED", { input }), say("s", "said to nobody")).length, 3);
});

test("a MESSAGES_SNAPSHOT replaces in place; thoughts, activity and errors stay where it has none", () => {
  const before = [start("m1"), say("m1", "a"), ev("REASONING_MESSAGE_CONTENT", { messageId: "r", delta: "hm" }), start("m2"),
    ev("ACTIVITY_SNAPSHOT", { messageId: "x", activityType: "plan", content: {} }), ev("RUN_ERROR", { message: "no" })];
  const snapshot = (...m: unknown[]) => ev("MESSAGES_SNAPSHOT", { messages: m });
  assert.deepEqual(messages(...before, snapshot({ id: "m3", role: "user", content: "new" }, { id: "m1", role: "assistant", content: "A" })).map((m) => m.id),
    ["m1", "r", "x", "error-1", "m3"]);
  assert.deepEqual(messages(...before, snapshot({ id: "y", role: "activity", activityType: "z", content: {} }, { id: "q", role: "reasoning", content: "" })).map((m) => m.id),
    ["error-1", "y", "q"]);
});

test("what has not changed keeps its identity", () => {
  const v = view(start("m1"), say("m1", "a"), end("m1"), start("m2"));
  const w = apply(v, say("m2", "b"));
  assert.equal(w.messages[0], v.messages[0]);
  assert.equal(w.questions, v.questions);
  assert.notEqual(w, v);
  assert.deepEqual(v.messages[1], assistant("m2", "", false), "the view before is as it was");
  const same = apply(w, ev("MESSAGES_SNAPSHOT", { messages: [{ id: "m1", role: "assistant", content: "a" }, { id: "m2", role: "assistant", content: "b" }] }));
  assert.equal(same.messages[0], w.messages[0]);
  for (const e of [ev("INVENTED", { messageId: "m1" }), ev("RAW", { event: {} }), ev("STEP_STARTED", { stepName: "x" }), say("m2", ""), end("m1"), ev("CUSTOM", { name: "x" })]) {
    assert.equal(apply(w, e), w, e.type);
  }
});

test("CMP-04 what is unknown or malformed does no harm", () => {
  for (const type of ["INVENTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CHUNK", "TOOL_CALL_START", "TOOL_CALL_RESULT", "MESSAGES_SNAPSHOT", "ACTIVITY_SNAPSHOT",
    "ACTIVITY_DELTA", "STATE_DELTA", "STATE_SNAPSHOT", "CUSTOM", "RUN_STARTED", "REASONING_MESSAGE_CHUNK", "__proto__", "toString"]) {
    for (const odd of [undefined, null, 7, "x", [], [null, 1, [], "x"], {}]) {
      const e = ev(type, { messageId: odd === "x" ? 1 : odd, toolCallId: null, delta: odd, messages: odd, content: odd, patch: odd, name: odd, value: odd, input: odd, outcome: odd });
      assert.deepEqual(messages(e), [], `${type} ${JSON.stringify(odd)}`);
    }
  }
});

test("the terminal of a run is its first; TERM-04 a run that goes on has none", () => {
  const terminal = (...events: Event[]) => view(...events).terminal;
  assert.equal(terminal(start("m")), null);
  assert.equal(terminal(ev("RUN_FINISHED", { outcome: { type: "success" } })), "finished");
  assert.equal(terminal(ev("RUN_FINISHED", { outcome: { type: "cancelled" } })), "cancelled");
  assert.equal(terminal(ev("RUN_ERROR", { message: "x" }), ev("RUN_FINISHED")), "error", "TERM-01");
  assert.equal(terminal(ev("RUN_FINISHED", { outcome: { type: "interrupt", interrupts: [] } })), "interrupted");
  assert.equal(terminal(ev("RUN_FINISHED", { outcome: { type: "interrupt", interrupts: [] } }), ev("RUN_STARTED")), null);
});

test("TERM-03 an error is a message, and what follows it is shown", () => {
  assert.deepEqual(messages(ev("RUN_ERROR", { message: "no more", code: "quota" }), ev("RUN_STARTED"), say("m", "again"), ev("RUN_ERROR", { message: "2" })), [
    { kind: "error", id: "error-1", text: "no more", code: "quota" }, assistant("m", "again", false), { kind: "error", id: "error-2", text: "2", code: null }]);
});

test("an activity is replaced, unless it is told not to be, and patched; a patch that fits nowhere changes nothing", () => {
  const snap = (content: unknown, more = {}) => ev("ACTIVITY_SNAPSHOT", { messageId: "x", activityType: "plan", content, ...more });
  const delta = (...patch: unknown[]) => ev("ACTIVITY_DELTA", { messageId: "x", activityType: "plan", patch });
  const content = (...events: Event[]) => { const [m] = messages(...events); return m?.kind === "activity" && m.content; };
  assert.deepEqual(content(snap({ n: 1 }), snap({ n: 2 })), { n: 2 });
  assert.deepEqual(content(snap({ n: 1 }), snap({ n: 2 }, { replace: false })), { n: 1 });
  assert.deepEqual(content(snap({ n: 1 }), delta({ op: "add", path: "/m", value: [1] })), { n: 1, m: [1] });
  assert.deepEqual(content(snap({ n: 1 }), delta({ op: "remove", path: "/n" }, { op: "remove", path: "/n" })), { n: 1 });
  assert.deepEqual(messages(delta({ op: "add", path: "", value: {} })), []);
});
