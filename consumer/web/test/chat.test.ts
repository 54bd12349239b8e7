import assert from "node:assert/strict";
import { test } from "node:test";
import { Chat } from "../src/chat.js";
import { RejoinError } from "../src/types.js";
import { FakeConnection, interrupted, request, resolved, say, settled, startedWith, textEnd, turn } from "./chat-fake.js";

function make(chatId: string | null = "c1") {
  const fake = new FakeConnection();
  const chat = new Chat({}, fake.connection);
  if (chatId !== null) void chat.open(chatId);
  const shown = () => chat.view.messages.map((m) => `${m.id}${"unsaved" in m ? " (unsaved)" : ""}: ${"text" in m ? m.text : m.kind === "tool" ? `${m.args} ${m.result}` : ""}`);
  return { fake, chat, shown };
}
const history = async (fake: FakeConnection, at: number, ...turns: ReturnType<typeof turn>[]) => {
  fake.histories[at]!.resolve(turns);
  await settled();
};

test("history and run are asked for at once, and shown each as soon as it is there", async () => {
  const { fake, chat, shown } = make();
  assert.deepEqual([fake.opened.length, fake.histories.length, chat.view.status, chat.view.chatId], [1, 1, "connecting", "c1"]);
  fake.snapshot("r2", [startedWith("r2", "two"), say("a2", "2")]);
  assert.deepEqual(shown(), ["user-r2: two", "a2: 2"]);
  await history(fake, 0, turn("r1", "one", [say("a1", "1"), textEnd("a1")]));
  assert.deepEqual(shown(), ["user-r1: one", "a1: 1", "user-r2: two", "a2: 2"]);
  assert.deepEqual([chat.view.busy, chat.view.runId, chat.view.end], [true, "r2", null]);
});

test("an attach that finds nothing leaves the history, and says why", async () => {
  const { fake, chat, shown } = make();
  fake.status("idle", "no_run");
  fake.opened[0]!.resolve({ attached: false, reason: "no_run" });
  await history(fake, 0, turn("r1", "one", [say("a1", "1")]));
  assert.deepEqual(shown(), ["user-r1: one", "a1: 1"]);
  assert.deepEqual([chat.view.status, chat.view.reason, chat.view.busy], ["idle", "no_run", false]);
});

test("the transient answer stays until the history that has it is there; then it is the same messages", async () => {
  const { fake, chat, shown } = make();
  await history(fake, 0);
  fake.snapshot("r1", [startedWith("r1", "one")]);
  fake.event(say("a1", "x"), say("a1", "y"), textEnd("a1"));
  fake.end();
  const before = chat.view.messages;
  assert.deepEqual(shown(), ["user-r1: one", "a1: xy"]);
  assert.equal(fake.histories.length, 2, "the history is loaded again after the end");
  await history(fake, 1, turn("r1", "one", [say("a1", "xy"), textEnd("a1")]));
  assert.equal(chat.view.messages, before, "nothing that is shown has changed");
  assert.deepEqual(chat.view.end, { persisted: true, superseded: false, reason: "done" });
});

test("DUP-02 a run that is in the history already is shown once, and an earlier answer is not touched", async () => {
  const { fake, shown } = make();
  fake.snapshot("r2", [startedWith("r2", "two"), say("a2", "2")]);
  await history(fake, 0, turn("r1", "one", [say("a1", "1")]), turn("r2", "two", [say("a2", "2")]));
  assert.deepEqual(shown(), ["user-r1: one", "a1: 1", "user-r2: two", "a2: 2"]);
});

test("DUP-02 a run that uses an earlier run's id has a message of its own", async () => {
  const { fake, chat, shown } = make();
  await history(fake, 0, turn("r1", "one", [say("a1", "old"), textEnd("a1")]));
  fake.snapshot("r2", [startedWith("r2", "two"), say("a1", "ne")]);
  const [, a1] = chat.view.messages;
  fake.event(say("a1", "w"));
  assert.deepEqual(shown(), ["user-r1: one", "a1: old", "user-r2: two", "a1@r2: new"]);
  assert.equal(chat.view.messages[1], a1);
});

test("DUP-01 a snapshot replaces what is held, and what says the same stays the same", async () => {
  const { fake, chat, shown } = make();
  await history(fake, 0);
  fake.snapshot("r1", [startedWith("r1", "one"), say("a1", "xy"), textEnd("a1"), say("a2", "z")]);
  const before = chat.view.messages;
  fake.snapshot("r1", [startedWith("r1", "one"), say("a1", "xy"), textEnd("a1"), say("a2", "zz")]);
  assert.deepEqual(shown(), ["user-r1: one", "a1: xy", "a2: zz"]);
  assert.deepEqual([chat.view.messages[0] === before[0], chat.view.messages[1] === before[1]], [true, true]);
  fake.snapshot("r1", [startedWith("r1", "one"), say("a1", "xy"), textEnd("a1"), say("a2", "zz")]);
  assert.deepEqual(shown().length, 3);
});

test("TERM-03 a failed turn hides nothing, and each is reduced by itself", async () => {
  const { fake, shown } = make();
  await history(fake, 0, turn("r1", "one", [say("a1", "1")]), turn("r2", "two", [say("a2", "half"), { type: "RUN_ERROR", message: "no" }], { reason: "error" }));
  fake.snapshot("r3", [startedWith("r3", "three"), { type: "RUN_ERROR", message: "again" }]);
  assert.deepEqual(shown(), ["user-r1: one", "a1: 1", "user-r2: two", "a2: half", "error-1-r2: no", "user-r3: three", "error-1-r3: again"]);
});

test("what was not saved stays, marked, at its place", async () => {
  const { fake, shown } = make();
  await history(fake, 0, turn("r1", "one", []));
  fake.snapshot("r2", [startedWith("r2", "two"), say("a2", "2")]);
  fake.end({ persisted: false, reason: "save_failed" });
  assert.equal(fake.histories.length, 1, "there is nothing new in the history");
  const lost = ["user-r2 (unsaved): two", "a2 (unsaved): 2"];
  assert.deepEqual(shown(), ["user-r1: one", ...lost]);
  fake.snapshot("r3", [startedWith("r3", "three"), say("a3", "3")]);
  fake.end();
  await history(fake, 1, turn("r1", "one", []), turn("r3", "three", [say("a3", "3")]));
  assert.deepEqual(shown(), ["user-r1: one", ...lost, "user-r3: three", "a3: 3"]);
});

test("SEND-02 what a superseded run has said stays until the history has been loaded", async () => {
  const { fake, shown } = make();
  await history(fake, 0);
  fake.snapshot("r1", [startedWith("r1", "one"), say("a1", "half")]);
  fake.end({ persisted: false, superseded: true, reason: "superseded", nextRunId: "r2" });
  fake.snapshot("r2", [startedWith("r2", "two")]);
  assert.deepEqual(shown(), ["user-r1 (unsaved): one", "a1 (unsaved): half", "user-r2: two"]);
  await history(fake, 1);
  assert.deepEqual(shown(), ["user-r2: two"]);
});

test("a run that was left without its end is not shown as saved until the history says so", async () => {
  const { fake, shown } = make();
  await history(fake, 0);
  fake.snapshot("r1", [startedWith("r1", "one"), say("a1", "ha")]);
  fake.snapshot("r2", [startedWith("r2", "two")]);
  assert.deepEqual(shown(), ["user-r1 (unsaved): one", "a1 (unsaved): ha", "user-r2: two"]);
  await history(fake, 1, turn("r1", "one", [say("a1", "half")]));
  assert.deepEqual(shown(), ["user-r1: one", "a1: half", "user-r2: two"]);
});

test("TAB-03 a message sent elsewhere is shown with its run; more turns than the history gives stay", async () => {
  const { fake, shown } = make();
  await history(fake, 0, turn("r1", "one", []));
  for (const [at, id] of ["r2", "r3"].entries()) {
    fake.snapshot(id, [startedWith(id, id)]);
    fake.end();
    await history(fake, at + 1, turn(id, id, []));
  }
  assert.deepEqual(shown(), ["user-r1: one", "user-r2: r2", "user-r3: r3"]);
});

test("a history that fails is told, and loaded again", async () => {
  const { fake, chat, shown } = make();
  fake.histories[0]!.reject(new RejoinError("network", "no answer"));
  await settled();
  assert.equal(chat.view.historyError, "no answer");
  fake.snapshot("r2", [startedWith("r2", "two")], "synchronizing");
  fake.status("live");
  assert.equal(fake.histories.length, 2);
  await history(fake, 1, turn("r1", "one", []));
  assert.deepEqual([chat.view.historyError, ...shown()], [null, "user-r1: one", "user-r2: two"]);
});

test("an end while the history is being loaded has it loaded once more, and no attempts run side by side", async () => {
  const { fake, shown } = make();
  fake.snapshot("r1", [startedWith("r1", "one")]);
  fake.end();
  fake.snapshot("r2", [startedWith("r2", "two")]);
  fake.end();
  assert.equal(fake.histories.length, 1);
  await history(fake, 0);
  assert.equal(fake.histories.length, 2);
  await history(fake, 1, turn("r1", "one", []), turn("r2", "two", []));
  assert.deepEqual([fake.histories.length, ...shown()], [2, "user-r1: one", "user-r2: two"]);
});

test("a relay without a history is no error", async () => {
  const { fake, chat } = make();
  fake.histories[0]!.reject(new RejoinError("not_found", "there is no such thing", 404));
  await settled();
  assert.equal(chat.view.historyError, null);
});

test("what comes late for a chat that is not open any more is dropped", async () => {
  const { fake, chat, shown } = make();
  void chat.open("c2");
  assert.deepEqual([shown(), chat.view.chatId, chat.view.status], [[], "c2", "connecting"]);
  await history(fake, 0, turn("r1", "one", []));
  assert.deepEqual(shown(), []);
  await history(fake, 1, turn("x1", "other", []));
  assert.deepEqual(shown(), ["user-x1: other"]);
  void chat.open("c1");
  assert.deepEqual(shown(), []);
  chat.close();
  await history(fake, 2, turn("r1", "one", []));
  assert.deepEqual([shown(), chat.view.chatId, chat.view.status, fake.listeners, fake.closed], [[], null, "idle", 0, 1]);
});

test("listeners are told once a microtask, and a view is the same until then", async () => {
  const { fake, chat } = make();
  await settled();
  let told = 0;
  const stop = chat.subscribe(() => told++);
  fake.snapshot("r1", []);
  fake.event(...Array.from({ length: 100 }, () => say("a1", "x")));
  assert.equal(told, 0);
  assert.equal(chat.view, chat.view);
  await settled();
  assert.equal(told, 1);
  stop();
  fake.event(say("a1", "x"));
  await settled();
  assert.equal(told, 1);
});

test("a tool's result that a later run brings is the earlier call's (TERM-04)", async () => {
  const { fake, shown } = make();
  const call = [{ type: "TOOL_CALL_START", toolCallId: "t1", toolCallName: "f" }, { type: "TOOL_CALL_ARGS", toolCallId: "t1", delta: "{}" }, { type: "TOOL_CALL_END", toolCallId: "t1" }];
  await history(fake, 0, turn("r1", "one", [...call, interrupted]));
  fake.snapshot("r2", [{ type: "TOOL_CALL_RESULT", toolCallId: "t1", messageId: "m", content: "done" }, say("a2", "so")]);
  assert.deepEqual(shown(), ["user-r1: one", "t1: {} done", "a2: so"]);
});

test("messages that a run brings along are shown once, where they were; a snapshot changes them in place", async () => {
  const { fake, shown } = make();
  const whole = [{ id: "user-r1", role: "user", content: "one" }, { id: "a1", role: "assistant", content: "1" }, { id: "user-r2", role: "user", content: "two" }];
  fake.snapshot("r2", [{ type: "RUN_STARTED", input: { messages: whole } }, say("a2", "2")]);
  assert.deepEqual(shown(), ["user-r1: one", "a1: 1", "user-r2: two", "a2: 2"]);
  await history(fake, 0, turn("r1", "one", [{ type: "REASONING_MESSAGE_CONTENT", messageId: "th", delta: "hm" }, say("a1", "1")]));
  assert.deepEqual(shown(), ["user-r1: one", "th: hm", "a1: 1", "user-r2: two", "a2: 2"]);
  fake.event({ type: "MESSAGES_SNAPSHOT", messages: [...whole.with(1, { id: "a1", role: "assistant", content: "ONE" }), { id: "a2", role: "assistant", content: "2" }] });
  assert.deepEqual(shown(), ["user-r1: one", "th: hm", "a1: ONE", "user-r2: two", "a2: 2"]);
});

test("an edit takes the place of the turns after the message that it goes on from", async () => {
  const { fake, shown } = make();
  const messages = [{ id: "user-r1", role: "user", content: "one" }, { id: "a1", role: "assistant", content: "1" }, { id: "u2b", role: "user", content: "two, better" }];
  await history(fake, 0, turn("r1", "one", [say("a1", "1")]), turn("r2", "two", [say("a2", "2")]), turn("r3", "", [say("a3", "3")], { kind: "edit", input: { messages } }));
  assert.deepEqual(shown(), ["user-r1: one", "a1: 1", "u2b: two, better", "a3: 3"]);
});

test("a retry takes the place of the same question before it, and of its answer; a question that was only asked twice stays", async () => {
  const { fake, chat, shown } = make();
  await history(fake, 0, turn("r1", "one", [say("a1", "1")]), turn("r2", "one", [say("a2", "2")]));
  assert.deepEqual(shown(), ["user-r1: one", "a1: 1", "user-r2: one", "a2: 2"]);
  fake.snapshot("r3", [startedWith("r3", "three"), say("a3", "half")]);
  fake.end({ persisted: false, reason: "error" });
  const kept = ["user-r1: one", "a1: 1", "user-r2: one", "a2: 2"];
  assert.deepEqual(shown(), [...kept, "user-r3 (unsaved): three", "a3 (unsaved): half"]);
  const refused = chat.send("three", { kind: "retry" });
  assert.deepEqual(shown(), [...kept, "user-sending-1: three"]);
  fake.sent[0]!.reject(new RejoinError("network", "no answer"));
  await assert.rejects(refused);
  assert.deepEqual(shown(), [...kept, "user-r3 (unsaved): three", "a3 (unsaved): half"], "what it would have replaced is there again");
  void chat.send("three", { kind: "retry" });
  fake.sent[1]!.resolve({ runId: "r4", turnId: null, clientToken: "t", acknowledged: true });
  await settled();
  fake.snapshot("r4", [say("a4", "whole")]);
  assert.deepEqual(shown(), [...kept, "user-r4: three", "a4: whole"]);
  fake.end();
  await history(fake, 1, turn("r1", "one", [say("a1", "1")]), turn("r2", "one", [say("a2", "2")]), turn("r4", "three", [say("a4", "whole")], { kind: "retry" }));
  assert.deepEqual(shown(), [...kept, "user-r4: three", "a4: whole"]);
});

test("a retry that comes out of the history alone replaces what it repeats and the approvals after it, and nothing else", async () => {
  const { fake, shown } = make();
  await history(fake, 0, turn("r1", "one", [say("a1", "1")]), turn("r2", "two", [say("a2", "2")]), turn("r2a", "", [say("a2a", "2a")], { kind: "approval", input: { resume: [] } }),
    turn("r3", "two", [say("a3", "3")], { kind: "retry" }), turn("r4", "four", [say("a4", "4")], { kind: "retry" }), turn("r5", "five", [say("a5", "5")], { kind: "edit" }));
  assert.deepEqual(shown(), ["user-r1: one", "a1: 1", "user-r3: two", "a3: 3", "user-r4: four", "a4: 4", "user-r5: five", "a5: 5"]);
});

test("an edit takes the place of an answer that was not saved", async () => {
  const { fake, chat, shown } = make();
  await history(fake, 0, turn("r1", "one", [say("a1", "1")]));
  fake.snapshot("r2", [startedWith("r2", "two"), say("a2", "half")]);
  void chat.send("two, better", { kind: "edit" });
  assert.deepEqual(shown(), ["user-r1: one", "a1: 1", "user-sending-1: two, better"]);
});

test("told anew that there is no run, after a break: what has come and gone meanwhile is in the history", async () => {
  const { fake, shown } = make();
  fake.status("idle", "no_run");
  await history(fake, 0, turn("r1", "one", [say("a1", "1")]));
  assert.equal(fake.histories.length, 1, "told for the first time, which the first history is for");
  fake.status("idle", "no_run");
  await history(fake, 1, turn("r1", "one", [say("a1", "1")]), turn("r2", "two", [say("a2", "2")]));
  assert.deepEqual(shown(), ["user-r1: one", "a1: 1", "user-r2: two", "a2: 2"]);
  fake.snapshot("r3", [startedWith("r3", "three"), say("a3", "3")]);
  fake.end({ persisted: false });
  assert.equal(fake.histories.length, 2);
  fake.status("ended", "no_run");
  await history(fake, 2, turn("r2", "two", [say("a2", "2")]), turn("r4", "four", [say("a4", "4")]));
  assert.deepEqual(shown(), ["user-r1: one", "a1: 1", "user-r2: two", "a2: 2", "user-r3 (unsaved): three", "a3 (unsaved): 3", "user-r4: four", "a4: 4"]);
});

test("CMP-02 the state goes on from run to run, also where the history comes later than the run", async () => {
  const { fake, chat } = make();
  const delta = (path: string, value: unknown) => ({ type: "STATE_DELTA", delta: [{ op: "add", path, value }] });
  fake.snapshot("r2", [delta("/a/b", 1)]);
  assert.deepEqual(chat.view.state, {});
  await history(fake, 0, turn("r1", "one", [{ type: "STATE_SNAPSHOT", snapshot: { a: {} } }]));
  assert.deepEqual(chat.view.state, { a: { b: 1 } });
  fake.event(delta("/c", 2));
  assert.deepEqual(chat.view.state, { a: { b: 1 }, c: 2 });
});

test("APP-01 questions are shown once what has happened so far has arrived", () => {
  const { fake, chat } = make();
  const ids = () => chat.view.questions.map((q) => q.id);
  fake.snapshot("r1", [request("q1"), request("q2")], "synchronizing");
  assert.deepEqual(ids(), []);
  fake.event(resolved("q1"));
  fake.status("live");
  assert.deepEqual(ids(), ["q2"]);
  const [q2] = chat.view.questions;
  fake.status("recovering");
  assert.deepEqual(ids(), ["q2"], "a form that is being filled in stays");
  fake.event(request("q3"));
  assert.deepEqual(ids(), ["q2"], "nothing new before the events have caught up");
  fake.snapshot("r1", [request("q1"), request("q2"), resolved("q1"), request("q3")], "synchronizing");
  assert.equal(chat.view.questions[0], q2);
  fake.status("live");
  assert.deepEqual(ids(), ["q2", "q3"]);
  fake.end({ persisted: false, reason: "abandoned" });
  assert.deepEqual(ids(), []);
});

test("APP-02 APP-03 an answered question goes at once, whoever has won", async () => {
  const { fake, chat } = make();
  fake.snapshot("r1", [request("q1"), request("q2"), request("q3")]);
  const ids = () => chat.view.questions.map((q) => q.id);
  const first = chat.answer("q1", { outcome: "cancelled" });
  fake.answered[0]!.resolve(null);
  assert.equal(await first, null);
  assert.deepEqual(ids(), ["q2", "q3"]);
  const second = chat.answer("q2", { outcome: "selected", optionId: "a" });
  fake.answered[1]!.reject(new RejoinError("already_answered", "too late", 409, { outcome: { outcome: "cancelled" } }));
  await assert.rejects(second, (err: RejoinError) => err.code === "already_answered");
  assert.deepEqual(ids(), ["q3"]);
  const third = chat.answer("q3", {});
  fake.answered[2]!.reject(new RejoinError("bad_request", "an option is missing", 400));
  await assert.rejects(third);
  assert.deepEqual(ids(), ["q3"], "it can be answered still");
  fake.snapshot("r1", [request("q1"), request("q2"), request("q3")]);
  assert.deepEqual(ids(), ["q3"]);
  fake.event(request("q1"));
  assert.deepEqual(ids(), ["q1", "q3"], "it was asked again");
});

test("TERM-04 APP-01 a chat that has ended to ask is opened again by its run, so that it can be answered", async () => {
  const { fake, chat } = make();
  fake.status("idle", "no_run");
  fake.opened[0]!.resolve({ attached: false, reason: "no_run" });
  await history(fake, 0, turn("r1", "one", [say("a1", "1"), interrupted]));
  assert.deepEqual(fake.opened[1]?.what, ["c1", { runId: "r1" }]);
  fake.snapshot("r1", [say("a1", "1"), interrupted], "synchronizing");
  fake.end();
  assert.deepEqual(chat.view.questions.map((q) => q.id), ["i1"]);
  assert.equal(chat.view.busy, false);
  await history(fake, 1, turn("r1", "one", [say("a1", "1"), interrupted]));
  fake.snapshot("r2", [say("a2", "on")]);
  assert.deepEqual(chat.view.questions, []);
  assert.equal(fake.opened.length, 2);
});
