// Attaching to a run that others began, and runs that take another's place.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "../src/index.js";
import { agent, ear, pieces, texts, threadId, whole } from "./agui-agent.js";
import { answer, Relay, until } from "./agui-relay.js";

test("HANG-02 connectAgent in an idle chat resolves without anything", async () => {
  const relay = new Relay();
  const it = agent(relay);
  const heard = ear();
  assert.deepEqual(await it.connectAgent({}, heard), { result: undefined, newMessages: [] });
  assert.deepEqual([heard.events, heard.errors], [[], []]);
  assert.equal(relay.asked("/chat/live"), 1);
  relay.intercept = () => { throw new TypeError("network error"); };
  await assert.rejects(it.connectAgent({}, heard), { code: "network" });
});

test("DUP-02 connectAgent after a reload shows the run beside the history", async () => {
  const relay = new Relay();
  const run = relay.begin(threadId);
  relay.say(run, ...answer(run, threadId, pieces).slice(0, 4));
  const it = agent(relay, { initialMessages: [
    { id: "u1", role: "user", content: "one" }, { id: "a1", role: "assistant", content: "first" }, { id: "u2", role: "user", content: "two" },
  ] });
  const done = it.connectAgent();
  await until(() => relay.open === 1);
  relay.cut();
  relay.say(run, ...answer(run, threadId, pieces).slice(4));
  relay.end(run);
  await done;
  assert.deepEqual(it.messages.map(({ id, content }) => [id, content]), [["u1", "one"], ["a1", "first"], ["u2", "two"], [`m-${run}`, whole]]);
  assert.equal(relay.asked("/chat/send"), 0);
});

test("DUP-01 connectAgent over a partly shown run, twice in one tick, shows its text once", async () => {
  const relay = new Relay();
  let run = "";
  relay.onSend = (id) => { run = id; };
  const it = agent(relay, { initialState: { n: 1 } });
  const first = it.runAgent();
  await until(() => run !== "" && relay.open === 1);
  relay.say(run, ...answer(run, threadId, pieces).slice(0, 4), { type: "STATE_DELTA", delta: [{ op: "replace", path: "/n", value: 2 }] });
  await until(() => texts(it)[0] === "Once upon " && (it.state as { n: number }).n === 2, "the first half");
  await it.detachActiveRun();
  await first;
  await until(() => relay.open === 0);
  it.addMessage({ id: "later", role: "user", content: "meanwhile" });
  const both = Promise.all([it.connectAgent(), it.connectAgent()]);
  await until(() => relay.open === 1 && texts(it)[0] === "Once upon ");
  relay.say(run, ...answer(run, threadId, pieces).slice(4));
  relay.end(run);
  await both;
  assert.deepEqual(texts(it), [whole]);
  assert.deepEqual(it.messages.map(({ id }) => id), ["u1", "later", `m-${run}`]);
  assert.deepEqual(it.state, { n: 2 });
  assert.equal(relay.asked("/chat/send"), 1);
});

test("SEND-02 a run that takes another's place is not shown as its answer", async () => {
  const relay = new Relay();
  let run = "";
  relay.onSend = (id) => { run = id; };
  const it = agent(relay);
  const heard = ear();
  const done = it.runAgent({}, heard);
  await until(() => run !== "" && relay.open === 1);
  relay.say(run, ...answer(run, threadId, ["old"]).slice(0, 3));
  await until(() => heard.events.length === 3);
  const next = relay.begin(threadId);
  relay.say(next, ...answer(next, threadId, ["new"]));
  relay.end(next);
  await done;
  assert.equal((heard.events.at(-1) as unknown as Event)["code"], "superseded");
  assert.equal(it.end?.nextRunId, next);
  assert.deepEqual(texts(it), ["old"]);
});

test("a turn that supersedes, or waits behind, the run that is under way is shown from its own beginning", async () => {
  for (const onActive of ["supersede", "queue"] as const) {
    const relay = new Relay();
    const before = relay.begin(threadId);
    relay.say(before, ...answer(before, threadId, ["old"]).slice(0, 3));
    let run = "";
    relay.onSend = (id) => { run = id; };
    const it = agent(relay, { onActive });
    const done = it.runAgent();
    await until(() => run !== "");
    if (onActive === "queue") relay.end(before);
    relay.say(run, ...answer(run, threadId, ["new"]));
    relay.end(run);
    await done;
    assert.deepEqual(texts(it), ["new"], onActive);
  }
});
