import assert from "node:assert/strict";
import { test } from "node:test";
import { reduce } from "../src/messages.js";
import type { Event } from "../src/types.js";

const request = (requestId: string, value = {}): Event => ({ type: "CUSTOM", name: "demo.form.request", value: { title: "How?", requestId, messageId: `c-${requestId}`, status: "pending", ...value } });
const card = (requestId: string, status: string, more = {}): Event =>
  ({ type: "ACTIVITY_SNAPSHOT", messageId: `c-${requestId}`, activityType: "demo.form", content: { requestId, status, ...more }, replace: true });
const resolved = (requestId: string, status: string, more = {}): Event => ({ type: "CUSTOM", name: "demo.form.resolved", value: { requestId, status, ...more } });
const statuses = (...events: Event[]) => reduce(events).questions.map((q) => `${q.id} ${q.status}`);

test("APP-01 a question has what it was asked with", () => {
  const { questions, messages } = reduce([request("q1"), card("q1", "pending")]);
  assert.deepEqual(questions, [{ id: "q1", name: "demo.form", status: "pending", outcome: null, reason: null, value: { title: "How?", requestId: "q1", messageId: "c-q1", status: "pending" } }]);
  assert.deepEqual(messages.map((m) => m.id), ["c-q1"]);
});

test("APP-02 what is closed stays closed, whatever comes later, until it is asked again", () => {
  assert.deepEqual(statuses(request("q1"), card("q1", "pending"), resolved("q1", "accepted", { outcome: { action: "accept" } }), card("q1", "accepted"), card("q1", "pending")), ["q1 accepted"]);
  assert.deepEqual(statuses(request("q1"), resolved("q1", "expired"), resolved("q1", "accepted")), ["q1 expired"]);
  assert.deepEqual(statuses(request("q1"), resolved("q1", "expired"), request("q1")), ["q1 pending"]);
  assert.deepEqual(statuses(request("q1"), card("q1", "expired", { reason: "the run ended" })), ["q1 expired"]);
  const [q] = reduce([request("q1"), resolved("q1", "declined", { outcome: { action: "decline" }, reason: "no" })]).questions;
  assert.deepEqual([q?.outcome, q?.reason, q?.value["title"]], [{ action: "decline" }, "no", "How?"]);
});

test("what nobody has asked is not closed, and a card alone asks nothing", () => {
  assert.deepEqual(statuses(resolved("q1", "accepted"), card("q2", "pending"), request(""), { type: "CUSTOM", name: ".request", value: { requestId: "x" } }), []);
});

test("TERM-04 a terminal closes nothing, and an interrupt asks", () => {
  assert.deepEqual(statuses(request("q1"), { type: "RUN_FINISHED" }), ["q1 pending"]);
  const { questions, terminal } = reduce([{ type: "RUN_FINISHED", outcome: { type: "interrupt", interrupts: [{ id: "i1", reason: "tool_call", message: "May I?" }, { reason: "nobody can answer" }] } }]);
  assert.equal(terminal, "interrupted");
  assert.deepEqual(questions.map((q) => [q.id, q.name, q.status, q.value["message"]]), [["i1", "interrupt", "pending", "May I?"]]);
});
