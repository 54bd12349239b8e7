import assert from "node:assert/strict";
import { test } from "node:test";
import { Chat } from "../src/chat.js";
import type { Event, Turn } from "../src/types.js";
import { FakeConnection, say, settled, textEnd, turn } from "./chat-fake.js";

const user = (id: string) => ({ id, role: "user", content: id });
const assistant = (id: string, content: string) => ({ id, role: "assistant", content });
const asked = (id: string, messages: readonly unknown[], events: readonly Event[], more: Partial<Turn> = {}) => turn(id, "", events, { input: { messages }, ...more });
const startedBy = (messages: readonly unknown[]): Event => ({ type: "RUN_STARTED", input: { messages } });
const answer = (id: string, text: string) => [say(id, text), textEnd(id)];

const r1 = asked("r1", [user("u1")], answer("answer-r1", "hello"));
const second = [user("u1"), assistant("r1", "hello"), user("u2")];
const both = ["user u1", "assistant answer-r1", "user u2", "assistant answer-r2"];

function make() {
  const fake = new FakeConnection();
  const chat = new Chat({}, fake.connection);
  void chat.open("c1");
  const shown = () => chat.view.messages.map((m) => `${m.kind} ${m.id}`);
  return { fake, chat, shown };
}

async function of(...turns: readonly Turn[]) {
  const made = make();
  made.fake.histories[0]!.resolve(turns);
  await settled();
  return made;
}

test("DUP-02 an answer that later turns bring again by its run's id is shown once", async () => {
  const third = [...second, assistant("r2", "so"), user("u3")];
  const { shown } = await of(r1, asked("r2", second, answer("answer-r2", "so")), asked("r3", third, answer("answer-r3", "well")));
  assert.deepEqual(shown(), [...both, "user u3", "assistant answer-r3"]);
});

test("DUP-02 an answer that a live run brings again is shown once, also where the history comes later", async () => {
  const { fake, shown } = make();
  fake.snapshot("r2", [startedBy(second), ...answer("answer-r2", "so")]);
  assert.deepEqual(shown(), ["user u1", "assistant r1", "user u2", "assistant answer-r2"], "what is known of the chat so far");
  fake.histories[0]!.resolve([r1]);
  await settled();
  assert.deepEqual(shown(), both);
  fake.event(say("more", "x"));
  assert.deepEqual(shown(), [...both, "assistant more"]);
});

test("DUP-02 an answer that was sent along with a message is shown once while that has no answer yet", async () => {
  const { fake, chat, shown } = await of(r1);
  const sent = chat.send({ messages: second });
  assert.deepEqual(shown(), both.slice(0, 3));
  fake.sent[0]!.resolve({ runId: "r2", turnId: null, clientToken: "t", acknowledged: true });
  await sent;
  fake.snapshot("r2", [startedBy(second), ...answer("answer-r2", "so")]);
  assert.deepEqual(shown(), both);
});

test("DUP-02 an answer around a tool's call, under any ids, is shown as its run has it", async () => {
  const call = [{ type: "TOOL_CALL_START", toolCallId: "t1", toolCallName: "f" }, { type: "TOOL_CALL_ARGS", toolCallId: "t1", delta: "{}" }, { type: "TOOL_CALL_END", toolCallId: "t1" }];
  const first = asked("r1", [user("u1")], [...answer("a", "let me see"), ...call, { type: "TOOL_CALL_RESULT", toolCallId: "t1", messageId: "m", content: "42" }, ...answer("b", "42")]);
  const shows = ["user u1", "assistant a", "tool t1", "assistant b", "user u2", "assistant answer-r2"];
  for (const [one, two] of [["r1", "r1-1"], ["x", "y"]] as const) {
    const calls = [{ id: "t1", type: "function", function: { name: "f", arguments: "{}" } }];
    const again = [user("u1"), { ...assistant(one, "let me see"), toolCalls: calls }, { id: "result-t1", role: "tool", toolCallId: "t1", content: "42" }, assistant(two, "42")];
    const extra = [{ id: "th", role: "reasoning", content: "hm" }, { id: "ac", role: "activity", activityType: "plan", content: {} }];
    const { shown } = await of(first, asked("r2", [...again, ...extra, user("u2")], answer("answer-r2", "so")));
    assert.deepEqual(shown(), shows);
  }
});

test("DUP-02 an answer named by its run is known also behind a user's message that the chat calls otherwise", async () => {
  const { shown } = await of(r1, asked("r-2", [user("u1"), user("steered"), assistant("r1", "hello"), user("u2")], answer("answer-r2", "so")),
    asked("r3", [user("other"), assistant("r-2", "so"), user("u3")], []));
  assert.deepEqual(shown(), ["user u1", "assistant answer-r1", "user steered", "user u2", "assistant answer-r2", "user other", "user u3"]);
});

test("DUP-02 an agent's snapshot that has an answer again shows it once, and its own answer", async () => {
  for (const name of ["r1", "x"]) {
    const messages = [user("u1"), assistant(name, "hello"), user("u2")];
    const snapshot: Event = { type: "MESSAGES_SNAPSHOT", messages: [...messages, assistant("answer-r2", "so")] };
    const { shown } = await of(r1, asked("r2", messages, [snapshot]));
    assert.deepEqual(shown(), both);
  }
});

test("a snapshot's answer to a question that was answered before is shown", async () => {
  const { shown } = await of(r1, asked("r2", [user("u1")], [{ type: "MESSAGES_SNAPSHOT", messages: [user("u1"), assistant("again", "hi")] }]));
  assert.deepEqual(shown(), ["user u1", "assistant answer-r1", "assistant again"]);
});

test("the history of a chat that began elsewhere is shown with the turn that brings it, and once", async () => {
  const before = [assistant("welcome", "Welcome"), user("f1"), assistant("fa1", "elsewhere")];
  const { shown } = await of(asked("r1", [...before, user("u1")], answer("answer-r1", "hello")), asked("r2", [...before, ...second], answer("answer-r2", "so")));
  assert.deepEqual(shown(), ["assistant welcome", "user f1", "assistant fa1", ...both]);
});

test("an answer that the chat has lost is shown with its question, where a later turn brings both", async () => {
  const { shown } = await of(r1, asked("r3", [...second, assistant("r2", "not saved"), user("u3")], answer("answer-r3", "so")));
  assert.deepEqual(shown(), ["user u1", "assistant answer-r1", "user u2", "assistant r2", "user u3", "assistant answer-r3"]);
});

test("an edit that brings an answer again shows it once; one whose turn was taken away is shown when it comes back", async () => {
  const edit = asked("r3", [user("u1"), assistant("r1", "hello"), user("u2b")], answer("answer-r3", "better"), { kind: "edit" });
  const back = asked("r4", [...second, assistant("r2", "so"), user("u4")], [], { kind: "edit" });
  const turns = [r1, asked("r2", second, answer("answer-r2", "so")), edit];
  assert.deepEqual((await of(...turns)).shown(), ["user u1", "assistant answer-r1", "user u2b", "assistant answer-r3"]);
  assert.deepEqual((await of(...turns, back)).shown(), ["user u1", "assistant answer-r1", "user u2", "assistant r2", "user u4"]);
});
