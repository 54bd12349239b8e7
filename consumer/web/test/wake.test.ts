// A page that is hidden, frozen, put away and shown again, and a network that comes back.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { connect, delta, end, event, eventually, relay, snapshot, stream, synced, text, until } from "./server.js";

const page = Object.assign(new EventTarget(), { hidden: false });
const frame = new EventTarget();
Object.assign(globalThis, { document: page, window: frame });
after(() => { Reflect.deleteProperty(globalThis, "document"); Reflect.deleteProperty(globalThis, "window"); });
const show = () => page.dispatchEvent(new Event("visibilitychange"));
const rest = (ms: number) => new Promise((f) => setTimeout(f, ms));

test("TAB-02 shown again after a while: another attempt with the cursor, and the old connection is gone", async (t) => {
  const r = await relay(t, ({ n, body }, res) => {
    if (n === 1) return void stream(res).write(snapshot("r", 1, [delta("a")]) + synced("r", 1)); // and then dead, though open
    assert.equal(body["after_seq"], 1);
    stream(res).write(event("r", 2, delta("b")) + synced("r", 2));
  });
  const c = connect(t, r.url);
  await c.open("c");
  await rest(1100);
  show();
  const s = await until(c, ({ seq }) => seq === 2);
  assert.equal(text(s.events), "ab");
  assert.equal(s.status, "live");
  await eventually(() => r.open.now === 1);
});

test("TAB-02 hidden and shown ten times in a row: one attempt in flight, and no more than one a second", async (t) => {
  const r = await relay(t, (_, res) => { setTimeout(() => { if (!res.destroyed) stream(res).write(snapshot("r", 1, [delta("a")]) + synced("r", 1)); }, 20); });
  const c = connect(t, r.url);
  await c.open("c");
  await rest(1100);
  for (let i = 0; i < 10; i++) {
    page.hidden = true;
    show();
    page.hidden = false;
    show();
    await rest(10);
  }
  await until(c, ({ status }) => status === "live");
  await rest(100);
  assert.equal(r.asked.length, 2);
  assert.equal(r.open.now, 1);
});

test("TAB-02 put away for the back/forward cache and shown again", async (t) => {
  const r = await relay(t, ({ body }, res) => {
    if (body["after_seq"] === 1) stream(res).end(event("r", 2, delta("b")) + end("r", 2));
    else stream(res).write(snapshot("r", 1, [delta("a")]) + synced("r", 1));
  });
  const c = connect(t, r.url);
  await c.open("c", { follow: false });
  frame.dispatchEvent(new Event("pagehide"));
  await eventually(() => r.open.now === 0);
  await rest(100);
  assert.equal(r.asked.length, 1, "nothing is asked while it is away");
  frame.dispatchEvent(new Event("pageshow"));
  const s = await until(c, ({ status }) => status === "ended");
  assert.equal(text(s.events), "ab");
  show();
  frame.dispatchEvent(new Event("online"));
  await rest(100);
  assert.equal(r.asked.length, 2, "a run that is over is not asked for again");
});

test("failed for want of a network, and back with it", async (t) => {
  let up = false;
  const r = await relay(t, (_, res, req) => {
    if (up) stream(res).write(snapshot("r", 1, [delta("a")]) + synced("r", 1));
    else req.socket.destroy();
  });
  const c = connect(t, r.url);
  assert.deepEqual(await c.open("c"), { attached: false, reason: "network" });
  await until(c, ({ status }) => status === "failed");
  assert.equal(r.asked.length, 5);
  up = true;
  frame.dispatchEvent(new Event("online"));
  const s = await until(c, ({ status }) => status === "live");
  assert.equal(s.reason, null);
});

test("HANG-01 a wait is asked for again when the page is shown, once it is told whether there is a run; one that comes is shown", async (t) => {
  const r = await relay(t, ({ body, n }, res) => {
    if (!body["wait_ms"]) res.writeHead(204).end();
    else if (n === 4) stream(res).write(snapshot("r", 1, [delta("a")]) + synced("r", 1));
  });
  const c = connect(t, r.url);
  await c.open("c");
  await eventually(() => r.asked.length === 2);
  await rest(1100);
  const said: unknown[] = [];
  c.subscribe(({ reason }) => said.push(reason));
  show();
  await until(c, ({ status }) => status === "live");
  assert.equal(r.open.now, 1);
  assert.deepEqual(r.asked.map(({ body }) => Boolean(body["wait_ms"])), [false, true, false, true]);
  assert.equal(said[0], "no_run"); // what is over has to be looked for in the history
});

test("a wait that broke: whether there is a run is asked before the next one, and a relay that breaks each is not asked in a circle", async (t) => {
  const r = await relay(t, ({ body }, res, req) => {
    if (!body["wait_ms"]) res.writeHead(204).end();
    else req.socket.destroy();
  });
  const c = connect(t, r.url);
  await c.open("c");
  const said: unknown[] = [];
  c.subscribe(({ reason }) => said.push(reason));
  await until(c, ({ status }) => status === "failed");
  assert.deepEqual(r.asked.map(({ body }) => Boolean(body["wait_ms"])), [false, true, false, true, false, true, false, true, false, true]);
  assert.deepEqual(said, ["no_run", "no_run", "no_run", "no_run", "network"]);
});

test("TAB-02 frozen: what was open is given up, since it brings nothing any more once the page is thawed", async (t) => {
  const r = await relay(t, ({ n, body }, res) => {
    if (n === 1) return void stream(res).write(snapshot("r", 1, [delta("a")]) + synced("r", 1));
    assert.equal(body["after_seq"], 1);
    stream(res).write(event("r", 2, delta("b")) + synced("r", 2));
  });
  const c = connect(t, r.url);
  await c.open("c");
  page.dispatchEvent(new Event("freeze"));
  await eventually(() => r.open.now === 0);
  page.dispatchEvent(new Event("resume"));
  const s = await until(c, ({ seq }) => seq === 2);
  assert.equal(text(s.events), "ab");
});

test("TAB-02 shown again right after an attempt whose connection is dead already: there is another once it is a second old", async (t) => {
  const r = await relay(t, ({ n }, res) => { stream(res).write(n === 1 ? snapshot("r", 1, [delta("a")]) + synced("r", 1) : event("r", 2, delta("b")) + synced("r", 2)); });
  const c = connect(t, r.url);
  await c.open("c");
  await rest(20); // its bytes have all been heard
  show();
  await until(c, ({ seq }) => seq === 2);
  await eventually(() => r.open.now === 1);
  assert.equal(r.asked.length, 2);
});
