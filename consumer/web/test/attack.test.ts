// What applications, relays and networks do at the worst moment, and what a connection makes of it.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Metric, RejoinError } from "../src/index.js";
import { connect, delta, end, event, eventually, problem, relay, snapshot, stream, synced, text, until, watch } from "./server.js";

const rest = (ms: number) => new Promise((f) => setTimeout(f, ms));
const accepted = (run_id: string) => JSON.stringify({ chat_id: "c", turn_id: "t", run_id });

/** Collects what is reported as an error that nobody caught, until the test ends. */
function reports(t: TestContext): unknown[] {
  const all: unknown[] = [];
  const { reportError } = globalThis;
  globalThis.reportError = (err: unknown) => { all.push(err); };
  t.after(() => { globalThis.reportError = reportError; });
  return all;
}

test("a listener, onChats and onMetric that throw each time lose nothing, for nobody, and it is reported", async (t) => {
  const reported = reports(t);
  const r = await relay(t, ({ n, path }, res) => {
    if (path === "/chat/send") return void res.writeHead(202).end(accepted("r2"));
    if (n === 1) stream(res).end(snapshot("r1", 1, [delta("a")]) + synced("r1", 1) + event("r1", 2, delta("b")) + end("r1", 2));
    else if (path === "/chat/live" && n > 2) stream(res).end(snapshot("r2", 1, [delta("c")]) + end("r2", 1));
  });
  const angry = () => { throw new Error("not mine"); };
  const c = connect(t, r.url, { onChats: angry, onMetric: angry });
  c.subscribe(angry);
  const seen = watch(c);
  assert.deepEqual(await c.open("c"), { attached: true });
  await until(c, ({ status }) => status === "ended");
  assert.equal(seen.text, "ab");
  assert.equal((await c.send("more")).acknowledged, true);
  await until(c, ({ runId, end }) => runId === "r2" && end !== null);
  assert.equal(seen.text, "c");
  assert.ok(reported.length > 8);
  assert.ok(r.asked.length <= 5);
});

test("a listener that another one lets go of is not told any more", async (t) => {
  const r = await relay(t, (_, res) => { stream(res).write(snapshot("r", 1, [delta("a")])); });
  const c = connect(t, r.url);
  let told = 0;
  c.subscribe(() => leave());
  const leave = c.subscribe(() => { told++; });
  await c.open("c");
  assert.equal(told, 0);
});

test("a token, an answer or a body that never comes, and that no signal ends, is a timeout", async (t) => {
  const r = await relay(t, (_, res) => { res.writeHead(204).end(); });
  const never = () => new Promise<never>(() => {});
  const limits = { answerTimeout: 60, idleTimeout: 60, attempts: 2 };
  const silent = () => new Response(new ReadableStream({ start(body) { body.enqueue(new TextEncoder().encode(snapshot("r", 1, [delta("a")]))); } }), { headers: { "Content-Type": "text/event-stream" } });
  for (const options of [{ token: never }, { fetch: never }]) {
    const c = connect(t, r.url, { ...limits, ...options });
    assert.deepEqual(await c.open("c"), { attached: false, reason: "timeout" });
    await until(c, ({ status }) => status === "failed");
    await assert.rejects(c.history(), { code: "timeout" });
    await assert.rejects(c.send("x"), { code: "unacknowledged" });
    const other = c.open("d"); // the connection is of use for the next chat
    assert.equal(c.state.status, "connecting");
    assert.equal((await other).attached, false);
  }
  let n = 0;
  const c = connect(t, r.url, { ...limits, fetch: () => { n++; return Promise.resolve(silent()); } });
  assert.deepEqual(await c.open("c"), { attached: true });
  const s = await until(c, ({ status }) => status === "failed");
  assert.equal(s.reason, "timeout");
  assert.equal(n, 3);
  assert.equal(text(s.events), "a");
  assert.equal(r.asked.length, 0);
});

test("a body that goes on after its attempt was given up changes nothing", async (t) => {
  let late: ReadableStreamDefaultController | undefined;
  const bytes = (s: string) => new TextEncoder().encode(s);
  let n = 0;
  const c = connect(t, "http://relay.invalid", {
    idleTimeout: 60,
    fetch: (_, init) => {
      if (n++) return new Promise((_ok, no) => { init!.signal!.addEventListener("abort", no); });
      return Promise.resolve(new Response(new ReadableStream({ start(body) { late = body; body.enqueue(bytes(snapshot("r", 1, [delta("a")]))); } }), { headers: { "Content-Type": "text/event-stream" } }));
    },
  });
  await c.open("c");
  await eventually(() => n > 1);
  try { late!.enqueue(bytes(event("r", 2, delta("LATE")))); } catch { /* let go of already: as well */ }
  await rest(20);
  assert.equal(text(c.state.events), "a");
});

test("a listener that closes while a retry is announced: the promise resolves", async (t) => {
  const r = await relay(t, (_, res) => problem(res, 403, "forbidden"));
  const c = connect(t, r.url);
  await c.open("c");
  c.subscribe(() => c.close());
  assert.deepEqual(await c.retry(), { attached: false, reason: "interrupted" });
  assert.equal(c.state.chatId, null);
});

test("onMetric that closes, or opens another chat: what it was told of is not said of that", async (t) => {
  const r = await relay(t, ({ body }, res) => {
    if (body["chat_id"] === "a") problem(res, 403, "forbidden");
    else stream(res).write(snapshot("r", 1, [delta("b")]) + synced("r", 1));
  });
  const closing = connect(t, r.url, { onMetric: () => closing.close() });
  await closing.open("a");
  assert.deepEqual({ ...closing.state }, { chatId: null, status: "idle", runId: null, seq: 0, events: [], end: null, reason: null });
  const opening = connect(t, r.url, { onMetric: (m: Metric) => { if (m.type === "give_up") void opening.open("b"); } });
  const statuses: string[] = [];
  opening.subscribe((s) => statuses.push(`${s.chatId}:${s.status}`));
  await opening.open("a");
  await until(opening, ({ status }) => status === "live");
  assert.ok(!statuses.includes("b:failed"), statuses.join());
});

test("given up while it waited, and back: it says that there is nothing, not that it has failed", async (t) => {
  let down = false;
  const r = await relay(t, ({ body }, res, req) => {
    if (down) req.socket.destroy();
    else if (!body["wait_ms"]) res.writeHead(204).end();
  });
  const page = Object.assign(new EventTarget(), { hidden: false });
  Object.assign(globalThis, { document: page, window: new EventTarget() });
  t.after(() => { Reflect.deleteProperty(globalThis, "document"); Reflect.deleteProperty(globalThis, "window"); });
  const c = connect(t, r.url);
  await c.open("c");
  await eventually(() => r.open.now === 1);
  down = true;
  r.cut();
  await until(c, ({ status }) => status === "failed");
  down = false;
  page.dispatchEvent(new Event("visibilitychange"));
  const s = await until(c, ({ status }) => status === "idle");
  assert.equal(s.reason, "no_run");
  await eventually(() => r.asked.at(-1)!.body["wait_ms"] === 30_000);
});

test("a message that is sent after it gave up in mid-run: its run is shown", async (t) => {
  let down = false;
  const r = await relay(t, ({ path, body }, res, req) => {
    if (path === "/chat/send") { down = false; res.writeHead(202).end(accepted("r2")); }
    else if (down) req.socket.destroy();
    else if (body["run_id"] === "r1") stream(res).end(end("r1", 1, { superseded: true, persisted: false, reason: "superseded", next_run_id: "r2" }));
    else if (body["run_id"] === "r2") stream(res).write(snapshot("r2", 1, [delta("b")]) + synced("r2", 1));
    else { down = true; stream(res).end(snapshot("r1", 1, [delta("a")])); }
  });
  const c = connect(t, r.url);
  await c.open("c");
  await until(c, ({ status }) => status === "failed");
  await c.send("x", { onActive: "supersede" });
  const s = await until(c, ({ status, runId }) => status === "live" && runId === "r2");
  assert.equal(text(s.events), "b");
});

for (const follow of [true, false]) {
  test(`a message that waits behind the run shown (follow ${follow}): its run is asked for by name, however short it was`, async (t) => {
    let finish = () => {};
    const r = await relay(t, ({ path, body }, res) => {
      if (path === "/chat/send") return void res.writeHead(202).end(accepted("r2"));
      if (body["run_id"] === "r2") return void stream(res).end(snapshot("r2", 1, [delta("b")]) + end("r2", 1)); // saved already: only its name leads to it
      if (body["ended_run_id"]) return; // a wait, for ever
      stream(res).write(snapshot("r1", 1, [delta("a")]) + synced("r1", 1));
      finish = () => res.end(end("r1", 1));
    });
    const c = connect(t, r.url);
    await c.open("c", { follow });
    await until(c, ({ status }) => status === "live");
    await c.send("x", { onActive: "queue" });
    assert.equal(r.asked.length, 2, "what is shown stays");
    finish();
    const s = await until(c, ({ runId, end }) => runId === "r2" && end !== null);
    assert.equal(text(s.events), "b");
  });
}

// Whatever a relay answers, however often: in the long run one request a second. Here a second is 40 ms.
const hot: [string, (n: number, body: Record<string, unknown>) => string | null][] = [
  ["a run that supersedes the last one, each time", (n) => snapshot(`r${n}`, 0, []) + end(`r${n}`, 0, { superseded: true, persisted: false, reason: "superseded", next_run_id: `r${n + 1}` })],
  ["another run that is over, each time", (n) => snapshot(`r${n}`, 0, []) + end(`r${n}`, 0)],
  ["another run that breaks off, each time", (n) => snapshot(`r${n}`, 1, [delta("a")])],
  ["a run that is there and gone in turn", (n) => (n % 2 ? snapshot("r", 1, [delta("a")]) : null)],
  ["one event, each time", (_, body) => (body["run_id"] ? event("r", Number(body["after_seq"]) + 1, delta("a")) : snapshot("r", 1, [delta("a")]))],
  ["the same end, each time", () => snapshot("r", 0, []) + end("r", 0)],
  ["two runs, each the other's successor", (n) => snapshot(`r${n % 2}`, 0, []) + end(`r${n % 2}`, 0, { superseded: true, persisted: false, reason: "superseded", next_run_id: `r${(n + 1) % 2}` })],
  ["a successor that there is not", (n) => (n === 1 ? snapshot("r", 0, []) + end("r", 0, { superseded: true, persisted: false, reason: "superseded", next_run_id: "none" }) : null)],
];
test("no answer is asked for in a circle", async (t) => {
  await Promise.all(hot.map(async ([name, answer]) => {
    const r = await relay(t, ({ n, body }, res) => {
      const body_ = answer(n, body);
      if (body_ === null) res.writeHead(204).end();
      else stream(res).end(body_);
    });
    const c = connect(t, r.url, { backoff: { first: 20, max: 20 } });
    void c.open("c");
    await rest(2000);
    assert.ok(r.asked.length <= 20 + 2000 / 40 + 3, `${name}: ${r.asked.length} requests`);
    c.close();
  }));
});

test("open of another run of the chat that is shown, with a cursor: nothing is mixed, and it is not called live", async (t) => {
  const held: (() => void)[] = [];
  const r = await relay(t, ({ body }, res) => {
    if (body["run_id"] !== "r2") return void stream(res).write(snapshot("r1", 1, [delta("one")]) + synced("r1", 1));
    held.push(() => stream(res).write(body["after_seq"] === 5 ? event("r2", 6, delta("!")) : snapshot("r2", 6, [delta("two!")]) + synced("r2", 6)));
  });
  const c = connect(t, r.url);
  await c.open("c");
  await until(c, ({ status }) => status === "live");
  const opened = c.open("c", { runId: "r2", afterSeq: 5 });
  assert.deepEqual([c.state.status, text(c.state.events)], ["connecting", "one"]);
  await eventually(() => held.length > 0);
  held.forEach((f) => f());
  await opened;
  const s = await until(c, ({ seq }) => seq === 6);
  assert.deepEqual([s.runId, text(s.events)], ["r2", "two!"]);
});

test("events that are not all of their run's are no seed", async (t) => {
  const kept = new Map<string, string>();
  const seed = { getItem: (k: string) => kept.get(k) ?? null, setItem: (k: string, v: string) => void kept.set(k, v), removeItem: (k: string) => void kept.delete(k) };
  const r = await relay(t, ({ body }, res) => {
    if (body["after_seq"] === 2) stream(res).write(event("r", 3, delta("c")) + synced("r", 3));
    else stream(res).write(snapshot("r", 3, [delta("abc")]) + synced("r", 3));
  });
  const one = connect(t, r.url, { seed });
  await one.open("c", { runId: "r", afterSeq: 2 });
  await until(one, ({ seq }) => seq === 3);
  one.close();
  const two = connect(t, r.url, { seed });
  void two.open("c");
  await until(two, ({ status }) => status === "live");
  assert.equal(text(two.state.events), "abc");
});

test("an answer is for the run that is shown, also where that was another tab's and is over", async (t) => {
  const r = await relay(t, ({ path, body, n }, res) => {
    if (path === "/chat/send") res.writeHead(202).end(accepted("r1"));
    else if (path === "/chat/answer") res.writeHead(200).end('{"status":"accepted","run_id":"r6"}');
    else if (body["run_id"] === "r1") stream(res).end(snapshot("r1", 0, []) + end("r1", 0));
    else if (body["ended_run_id"] === "r1") stream(res).end(snapshot("r5", 0, []) + end("r5", 0, { persisted: false, reason: "done" }));
    else if (body["run_id"] === "r6") stream(res).write(snapshot("r6", 1, [delta("on it goes")]));
    else if (n === 1) res.writeHead(204).end();
  });
  const c = connect(t, r.url);
  await c.open("c");
  await c.send("x");
  await until(c, ({ runId, end }) => runId === "r5" && end !== null);
  assert.equal(await c.answer("q", { outcome: "cancelled" }), "r6");
  assert.equal(r.asked.find((a) => a.path === "/chat/answer")!.body["run_id"], "r5");
  await until(c, ({ runId }) => runId === "r6");
});

test("SEND-01 where nobody knows what the chat had before, a run that appears is not taken for what was sent", async (t) => {
  const r = await relay(t, ({ path }, res, req) => {
    if (path === "/chat/send") req.socket.destroy();
    else setTimeout(() => { if (!res.destroyed) stream(res).write(snapshot("another's", 1, [delta("a")]) + synced("another's", 1)); }, 50);
  });
  const c = connect(t, r.url);
  void c.open("c");
  await assert.rejects(c.send("x"), (err: RejoinError) => err.code === "unacknowledged");
  await until(c, ({ status }) => status === "live");
});

test("while it recovers there is no reason to tell", async (t) => {
  let n = 0;
  const r = await relay(t, (_, res) => { if (n++ % 3) stream(res).end(); else stream(res).end(snapshot("r", 1, [delta("a")])); });
  const c = connect(t, r.url, { attempts: 2 });
  c.subscribe((s) => { if (s.status !== "failed" && s.status !== "idle") assert.equal(s.reason, null, s.status); });
  const reported = reports(t);
  await c.open("c");
  for (let i = 0; i < 3; i++) {
    await until(c, ({ status }) => status === "failed");
    void c.retry();
  }
  assert.deepEqual(reported, []);
});
