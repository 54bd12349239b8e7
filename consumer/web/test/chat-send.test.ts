import assert from "node:assert/strict";
import { test } from "node:test";
import { Chat } from "../src/chat.js";
import { RejoinError } from "../src/types.js";
import { FakeConnection, say, sentAs, settled, startedWith, turn } from "./chat-fake.js";

async function make() {
  const fake = new FakeConnection();
  const chat = new Chat({}, fake.connection);
  void chat.open("c1");
  fake.histories[0]!.resolve([turn("r0", "zero", [say("a0", "0")])]);
  await settled();
  const shown = () => chat.view.messages.slice(2).map((m) => `${m.id}: ${"text" in m ? m.text : ""}`);
  return { fake, chat, shown };
}

test("a message is shown at once, and with its run's id as soon as that is known", async () => {
  const { fake, chat, shown } = await make();
  const sent = chat.send("hi", { kind: "send" });
  assert.deepEqual(shown(), ["user-sending-1: hi"]);
  assert.deepEqual(fake.sent[0]!.what, ["send", "hi", { kind: "send" }]);
  fake.sent[0]!.resolve(sentAs("r1"));
  assert.equal((await sent).runId, "r1");
  assert.deepEqual(shown(), ["user-r1: hi"]);
  const [, , message] = chat.view.messages;
  fake.snapshot("r1", [startedWith("r1", "hi"), say("a1", "yes")]);
  assert.deepEqual(shown(), ["user-r1: hi", "a1: yes"]);
  assert.equal(chat.view.messages[2], message);
  fake.end();
  fake.histories[1]!.resolve([turn("r1", "hi", [say("a1", "yes")])]);
  await settled();
  assert.deepEqual(shown(), ["user-r1: hi", "a1: yes"]);
  assert.equal(chat.view.messages[2], message);
});

test("a run that is seen before its send is acknowledged shows the message once, whether its agent repeats it or not", async () => {
  for (const echo of [[], [startedWith("r1", "hi")]]) {
    const { fake, chat, shown } = await make();
    const sent = chat.send("hi");
    fake.snapshot("r1", []);
    assert.deepEqual(shown(), ["user-sending-1: hi"]);
    fake.event(...echo, say("a1", "yes"));
    assert.deepEqual(shown(), [echo.length ? "user-r1: hi" : "user-sending-1: hi", "a1: yes"]);
    fake.sent[0]!.resolve(sentAs("r1"));
    await sent;
    assert.deepEqual(shown(), ["user-r1: hi", "a1: yes"]);
  }
});

test("a RunAgentInput's own messages are shown under their own ids, those that are there already once", async () => {
  const { fake, chat, shown } = await make();
  const messages = [{ id: "user-r0", role: "user", content: "zero" }, { id: "a0", role: "assistant", content: "0" }, { id: "mine", role: "user", content: "hi" }];
  const sent = chat.send({ threadId: "c1", runId: "x", messages });
  assert.deepEqual(shown(), ["mine: hi"]);
  fake.snapshot("r1", [{ type: "RUN_STARTED", input: { messages } }, say("a1", "yes")]);
  assert.deepEqual(shown(), ["mine: hi", "a1: yes"]);
  fake.sent[0]!.resolve(sentAs("r1"));
  await sent;
  assert.deepEqual(shown(), ["mine: hi", "a1: yes"]);
});

test("SEND-01 a message that is refused is taken away, and the error thrown", async () => {
  const { fake, chat, shown } = await make();
  const sent = chat.send("hi");
  fake.sent[0]!.reject(new RejoinError("already_streaming", "there is a run", 409, { run_id: "r1" }));
  await assert.rejects(sent, (err: RejoinError) => err.code === "already_streaming");
  assert.deepEqual(shown(), []);
});

test("a queued message waits behind the run before it, and behind others that begin earlier", async () => {
  const { fake, chat, shown } = await make();
  fake.snapshot("r1", [startedWith("r1", "one"), say("a1", "1")]);
  const sent = chat.send("three", { onActive: "queue" });
  fake.sent[0]!.resolve(sentAs("r3"));
  await sent;
  fake.event(say("a1", "!"));
  assert.deepEqual(shown(), ["user-r1: one", "a1: 1!", "user-r3: three"]);
  fake.end();
  fake.snapshot("r2", [startedWith("r2", "two")]);
  assert.deepEqual(shown(), ["user-r1: one", "a1: 1!", "user-r2: two", "user-r3: three"]);
  fake.end();
  fake.snapshot("r3", [say("a3", "3")]);
  assert.deepEqual(shown(), ["user-r1: one", "a1: 1!", "user-r2: two", "user-r3: three", "a3: 3"]);
});

test("a message that steers stays where it was said, also in the history's turn", async () => {
  const { fake, chat, shown } = await make();
  fake.snapshot("r1", [startedWith("r1", "one"), say("a1", "1")]);
  const sent = chat.steer("louder");
  assert.deepEqual(shown(), ["user-r1: one", "a1: 1", "steer-1-r1: louder"]);
  fake.sent[0]!.resolve(sentAs("r1"));
  await sent;
  void chat.steer("louder"); // the same words again
  fake.event(say("a2", "2"));
  const want = ["user-r1: one", "a1: 1", "steer-1-r1: louder", "steer-2-r1: louder", "a2: 2"];
  assert.deepEqual(shown(), want);
  fake.end();
  fake.histories[1]!.resolve([turn("r1", "one", [say("a1", "1"), say("a2", "2")])]);
  await settled();
  assert.deepEqual(shown(), want);
});

test("a steering message that makes a run of its own is that run's; one that fails is taken away", async () => {
  const { fake, chat, shown } = await make();
  fake.snapshot("r1", [startedWith("r1", "one"), say("a1", "1")]);
  const first = chat.steer("stop that");
  fake.sent[0]!.resolve(sentAs("r2"));
  await first;
  assert.deepEqual(shown(), ["user-r1: one", "a1: 1", "user-r2: stop that"]);
  const second = chat.steer("and that");
  fake.sent[1]!.reject(new RejoinError("network", "no answer"));
  await assert.rejects(second);
  assert.deepEqual(shown(), ["user-r1: one", "a1: 1", "user-r2: stop that"]);
});

test("a steered message that the events repeat is shown once", async () => {
  const { fake, chat, shown } = await make();
  fake.snapshot("r1", [startedWith("r1", "one"), say("a1", "1")]);
  void chat.steer("louder");
  fake.event({ type: "TEXT_MESSAGE_START", messageId: "u9", role: "user" }, say("u9", "louder"), say("a2", "2"));
  assert.deepEqual(shown(), ["user-r1: one", "a1: 1", "u9: louder", "a2: 2"]);
});

test("the answer to a send of a chat that is not open any more changes nothing", async () => {
  const { fake, chat } = await make();
  const sent = chat.send("hi");
  void chat.open("c2");
  fake.sent[0]!.resolve(sentAs("r1"));
  await sent;
  assert.deepEqual(chat.view.messages, []);
});
