// Stopping, leaving and answering.
import assert from "node:assert/strict";
import { test } from "node:test";
import { agent, ear, pieces, texts, threadId, whole } from "./agui-agent.js";
import { answer, Relay, until } from "./agui-relay.js";

test("abortRun stops the run and resolves; the rest of what it says is shown", async () => {
  const relay = new Relay();
  let run = "";
  relay.onSend = (id) => { run = id; };
  const it = agent(relay);
  const heard = ear();
  const done = it.runAgent({}, heard);
  await until(() => run !== "" && relay.open === 1);
  relay.say(run, ...answer(run, threadId, pieces).slice(0, 3));
  await until(() => heard.events.length === 3);
  it.abortRun();
  it.abortRun();
  await done;
  assert.equal(relay.asked("/chat/stop"), 1);
  assert.deepEqual(heard.errors.length, 1);
  assert.deepEqual(texts(it), ["Once "]);
  assert.equal(it.end?.reason, "stopped");
});

test("with stopOnAbort false, and with detachActiveRun, a run goes on", async () => {
  const relay = new Relay();
  relay.onSend = (run) => relay.say(run, ...answer(run, threadId, pieces).slice(0, 3));
  const it = agent(relay, { stopOnAbort: false });
  const abortController = new AbortController();
  const done = it.runAgent({ abortController });
  await until(() => texts(it).length === 1);
  abortController.abort();
  await done;
  await until(() => relay.open === 0);
  const again = it.connectAgent();
  await until(() => relay.open === 1);
  await it.detachActiveRun();
  await again;
  await until(() => relay.open === 0);
  assert.equal(relay.asked("/chat/stop"), 0);
});

test("a question of a run is answered while it streams", async () => {
  const relay = new Relay();
  const answers: unknown[] = [];
  relay.onSend = (run) => relay.say(run, ...answer(run, threadId, pieces).slice(0, 1), { type: "CUSTOM", name: "demo.form.request", value: { requestId: "q1", status: "pending" } });
  relay.onAnswer = (run, request, outcome) => {
    answers.push([run, request, outcome]);
    relay.say(run, { type: "CUSTOM", name: "demo.form.resolved", value: { requestId: "q1", status: "accepted" } }, ...answer(run, threadId, pieces).slice(1));
    relay.end(run);
    return undefined;
  };
  const it = agent(relay);
  it.subscribe({ onCustomEvent: ({ event }) => { if (event.name === "demo.form.request") void it.answer("q1", { action: "decline" }); } });
  await it.runAgent();
  assert.deepEqual(answers, [["run-1", "q1", { action: "decline" }]]);
  assert.deepEqual(texts(it), [whole]);
});

test("the answer to an interrupt starts the run that connectAgent shows", async () => {
  const relay = new Relay();
  relay.onSend = (run) => {
    relay.say(run, { type: "RUN_STARTED", threadId, runId: run }, { type: "RUN_FINISHED", threadId, runId: run, outcome: { type: "interrupt", interrupts: [{ id: "i1", reason: "confirm" }] } });
    relay.end(run);
  };
  relay.onAnswer = () => {
    const next = relay.begin(threadId);
    relay.say(next, ...answer(next, threadId, pieces));
    relay.end(next, { persisted: true });
    return next;
  };
  const it = agent(relay);
  await it.runAgent();
  assert.equal(it.pendingInterrupts.length, 1);
  const reloaded = agent(relay);
  assert.equal(await it.answer("i1", { approved: true }), "run-2");
  assert.equal(it.pendingInterrupts.length, 0);
  await assert.rejects(reloaded.answer("i1", {}), { code: "no_run" });
});
