import assert from "node:assert/strict";
import { test } from "node:test";
import type { BaseEvent } from "@ag-ui/client";
import type { Event } from "../src/index.js";
import { agent, ear, pieces, texts, threadId, types, whole } from "./agui-agent.js";
import { answer, Relay, until } from "./agui-relay.js";

test("an agent sends its input as a turn and shows the run", async () => {
  const relay = new Relay();
  relay.onSend = (run) => {
    relay.say(run, ...answer(run, threadId, pieces));
    relay.end(run);
  };
  const it = agent(relay, { headers: { "x-app": "1" }, kind: "canvas" });
  const heard = ear();
  const { newMessages } = await it.runAgent({ runId: "mine", forwardedProps: { a: 1 } }, heard);
  assert.deepEqual(newMessages.map(({ content }) => content), [whole]);
  assert.equal(types(heard.events).at(-1), "RUN_FINISHED");
  assert.deepEqual(it.end, { persisted: true, superseded: false, reason: "done" });
  const sent = relay.requests.filter(({ path }) => path === "/chat/send");
  assert.equal(sent.length, 1);
  assert.equal(sent[0]?.headers.get("x-app"), "1");
  assert.equal(sent[0]?.body["kind"], "canvas");
  const input = sent[0]?.body["input"] as Record<string, unknown>;
  assert.equal(input["runId"], "mine");
  assert.equal(input["threadId"], threadId);
  assert.deepEqual(input["messages"], [{ id: "u1", role: "user", content: "hello" }]);
  assert.equal(it.runId, "run-1");
});

for (const clean of [true, false]) {
  test(`TERM-06 a stream that breaks off in mid-answer is resumed, each event once (${clean ? "clean end" : "error"})`, async () => {
    const relay = new Relay();
    let run = "";
    relay.onSend = (id) => { run = id; };
    const it = agent(relay);
    const heard = ear();
    const done = it.runAgent({}, heard);
    const events = answer("r", threadId, pieces);
    for (const event of events) {
      await until(() => run !== "" && relay.open === 1, "a stream");
      relay.say(run, event);
      relay.repeat(2);
      await until(() => heard.events.length >= Math.min(relay.asked("/chat/live"), events.indexOf(event)), "the events");
      relay.cut(clean);
    }
    await until(() => relay.open === 1);
    relay.end(run);
    await done;
    assert.deepEqual(texts(it), [whole]);
    assert.deepEqual(types(heard.events), types(events as unknown as BaseEvent[]));
    assert.equal(relay.asked("/chat/send"), 1);
  });
}

test("a snapshot in mid-stream adds what is new, and nothing twice", async () => {
  const relay = new Relay();
  let run = "";
  relay.onSend = (id) => { run = id; };
  const it = agent(relay);
  const heard = ear();
  const done = it.runAgent({}, heard);
  relay.snapshots = true; // every attempt begins anew
  const events = answer("r", threadId, pieces);
  for (const event of events) {
    await until(() => run !== "" && relay.open === 1);
    relay.say(run, event);
    relay.snapshot();
    await until(() => relay.open === 1);
    relay.cut();
    relay.say(run, { type: "CUSTOM", name: "tick", value: events.indexOf(event) });
  }
  await until(() => relay.open === 1);
  relay.end(run);
  await done;
  assert.deepEqual(texts(it), [whole]);
  const ticks = heard.events.filter(({ type }) => String(type) === "CUSTOM").map((event) => (event as unknown as Event)["value"]);
  assert.deepEqual(ticks, events.map((_, i) => i));
});

test("a snapshot that does not begin with what was shown is an error, not another text", async () => {
  const relay = new Relay();
  let run = "";
  relay.onSend = (id) => { run = id; };
  const it = agent(relay);
  const heard = ear();
  const failed = assert.rejects(it.runAgent({}, heard), { code: "replaced" });
  await until(() => run !== "");
  const events = answer(run, threadId, ["one"]).slice(0, 3);
  relay.say(run, ...events);
  await until(() => heard.events.length === 3);
  relay.rewrite(run, answer(run, threadId, ["another"]).slice(0, 3));
  relay.snapshot();
  await failed;
  assert.deepEqual(texts(it), ["one"]);
});

for (const [end, code] of [
  [{ persisted: false, superseded: true, reason: "superseded" }, "superseded"],
  [{ persisted: false, reason: "save_failed" }, "save_failed"],
  [{ persisted: false, reason: "skipped" }, "skipped"],
  [{ persisted: false, reason: "abandoned" }, "abandoned"],
  [{ persisted: true, reason: "error" }, "error"],
] as const) {
  test(`a run that ends as ${end.reason} is a RUN_ERROR, whatever its agent has said`, async () => {
    const relay = new Relay();
    relay.onSend = (run) => {
      relay.say(run, ...answer(run, threadId, pieces));
      relay.end(run, end);
    };
    const it = agent(relay);
    const heard = ear();
    await it.runAgent({}, heard);
    const last = heard.events.at(-1) as unknown as Event;
    assert.equal(last.type, "RUN_ERROR");
    assert.equal(last["code"], code);
    assert.ok(!types(heard.events).includes("RUN_FINISHED"));
    assert.equal(it.end?.persisted, end.persisted);
  });
}

test("the agent's own RUN_ERROR stays what it is, and persisted false with reason done is no error", async () => {
  const relay = new Relay();
  let said: Event = { type: "RUN_ERROR", message: "no model", code: "model" };
  let end = { persisted: true, reason: "error" };
  relay.onSend = (run) => {
    relay.say(run, ...answer(run, threadId, pieces).slice(0, -1), said);
    relay.end(run, end);
  };
  const it = agent(relay);
  let heard = ear();
  await it.runAgent({}, heard);
  assert.equal((heard.events.at(-1) as unknown as Event)["code"], "model");
  said = { type: "RUN_FINISHED", threadId, runId: "x" };
  end = { persisted: false, reason: "done" };
  heard = ear();
  await it.runAgent({}, heard);
  assert.equal(types(heard.events).at(-1), "RUN_FINISHED");
  assert.equal(it.end?.persisted, false);
});

test("what comes behind a RUN_FINISHED comes before it", async () => {
  const relay = new Relay();
  relay.onSend = (run) => {
    relay.say(run, ...answer(run, threadId, pieces), { type: "CUSTOM", name: "demo.form.resolved", value: { requestId: "q", status: "expired" } });
    relay.end(run);
  };
  const heard = ear();
  await agent(relay).runAgent({}, heard);
  assert.deepEqual(types(heard.events).slice(-2), ["CUSTOM", "RUN_FINISHED"]);
});

test("an acknowledgement that is lost is recovered by observing, and nothing is sent twice", async () => {
  const relay = new Relay();
  relay.onSend = (run) => relay.say(run, ...answer(run, threadId, pieces));
  relay.intercept = (request) => {
    if (request.path !== "/chat/send") return undefined;
    relay.intercept = () => undefined;
    void relay.fetch("http://relay/chat/send", { body: JSON.stringify(request.body) });
    throw new TypeError("network error");
  };
  const it = agent(relay);
  const done = it.runAgent();
  await until(() => relay.open === 1);
  relay.end("run-1");
  await done;
  assert.deepEqual(texts(it), [whole]);
});

test("a message that is refused, and a relay that is lost, are errors with a code", async () => {
  const relay = new Relay();
  relay.begin(threadId);
  await assert.rejects(agent(relay).runAgent(), { code: "already_streaming" });
  assert.equal(relay.asked("/chat/send"), 1);
  const away = new Relay();
  away.intercept = () => { throw new TypeError("network error"); };
  await assert.rejects(agent(away).runAgent(), { code: "unacknowledged" });
  assert.equal(away.asked("/chat/send"), 1);
});

test("HANG-02 a run that is gone in mid-answer is an error, and is not asked for for ever", async () => {
  const relay = new Relay();
  let run = "";
  relay.onSend = (id) => { run = id; };
  const it = agent(relay);
  const heard = ear();
  const failed = assert.rejects(it.runAgent({}, heard), { code: "gone" });
  await until(() => run !== "" && relay.open === 1);
  relay.say(run, ...answer(run, threadId, pieces).slice(0, 4));
  await until(() => heard.events.length === 4);
  relay.intercept = ({ path }) => (path === "/chat/live" ? new Response(null, { status: 204 }) : undefined);
  relay.cut();
  await failed;
  const asked = relay.asked("/chat/live");
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(relay.asked("/chat/live"), asked);
});

test("a clone is an agent of its own", async () => {
  const relay = new Relay();
  relay.onSend = (run) => {
    relay.say(run, ...answer(run, threadId, pieces));
    relay.end(run);
  };
  const it = agent(relay, { headers: { a: "1" } });
  const other = it.clone();
  other.headers["a"] = "2";
  await other.runAgent();
  assert.equal(it.headers["a"], "1");
  assert.deepEqual([texts(it), texts(other)], [[], [whole]]);
  assert.equal(it.runId, null);
  assert.equal(other.runId, "run-1");
});
