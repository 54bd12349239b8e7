// A connection against a relay that does as it is told: what each answer, cut and frame leads to.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Metric, RejoinError } from "../src/index.js";
import { connect, delta, end, event, eventually, problem, relay, snapshot, stream, synced, text, until, watch } from "./server.js";

const words = ["one ", "zwei ", "三 ", "四🙂 ", "fünf"];
const whole = words.join("");

test("a run is shown as it comes, to its end", async (t) => {
  const r = await relay(t, (_, res) => {
    stream(res).write(snapshot("r", 1, [delta(words[0]!)]) + synced("r", 1));
    words.slice(1).forEach((w, i) => res.write(event("r", i + 2, delta(w))));
    res.end(end("r", 5));
  });
  const metrics: Metric[] = [];
  const c = connect(t, r.url, { onMetric: (m) => metrics.push(m) });
  const seen = watch(c);
  assert.deepEqual(await c.open("c", { follow: false }), { attached: true });
  const s = await until(c, ({ status }) => status === "ended");
  assert.equal(seen.text, whole);
  assert.equal(text(s.events), whole);
  assert.deepEqual(s.end, { persisted: true, superseded: false, reason: "done" });
  assert.deepEqual(seen.statuses, ["connecting", "synchronizing", "live", "ended"]);
  assert.deepEqual(metrics.map((m) => m.type), ["attach", "end"]);
  assert.deepEqual(r.asked.map((a) => a.body), [{ chat_id: "c", protocol: 1, synced: true, wait_ms: 0 }]);
});

// CUR-05, TERM-06: cut after each byte, as a proxy does that ends the answer properly, and as a relay that dies.
for (const how of ["ends", "dies"] as const) {
  test(`CUR-05 TERM-06 a stream that ${how} after each byte is resumed without loss or repeat`, async (t) => {
    const first = Buffer.from(snapshot("r", 1, [delta(words[0]!)]) + event("r", 2, delta(words[1]!)) + event("r", 3, delta(words[2]!)) + end("r", 3));
    let cut = 0;
    let n = 0;
    const r = await relay(t, ({ body }, res, req) => {
      if (n++ === 0) {
        stream(res).write(first.subarray(0, cut), () => { if (how === "ends") res.end(); else setTimeout(() => req.socket.destroy(), 1); });
        return;
      }
      const after = body["run_id"] === "r" ? Number(body["after_seq"]) : -1;
      stream(res);
      if (after < 0) res.write(snapshot("r", 2, [delta(words[0]! + words[1]!)]));
      for (let seq = after < 0 ? 3 : after + 1; seq <= 3; seq++) res.write(event("r", seq, delta(words[seq - 1]!)));
      res.end(end("r", 3));
    });
    for (cut = 0; cut <= first.length; cut++) {
      n = 0;
      const c = connect(t, r.url);
      const seen = watch(c);
      void c.open("c");
      const s = await until(c, ({ status }) => status === "ended");
      assert.equal(text(s.events), words.slice(0, 3).join(""), `cut at ${cut}`);
      assert.equal(seen.text, text(s.events), `cut at ${cut}`);
      assert.equal(s.end?.persisted, true);
      assert.deepEqual(seen.seqs, [...new Set(seen.seqs)].sort(), `each once, cut at ${cut}`);
      c.close();
    }
  });
}

// What an attempt that finds nothing comes to: nothing is touched, and the application shows the history.
const answers: [string, number, string, string, boolean][] = [
  ["no run", 204, "", "no_run", false], ["bad request", 400, "bad_request", "refused", true], ["unauthenticated", 401, "unauthenticated", "unauthenticated", true],
  ["forbidden", 403, "forbidden", "forbidden", true], ["not found", 404, "not_found", "not_found", true], ["too many", 429, "too_many_requests", "too_many", false],
  ["internal", 500, "internal", "unavailable", false], ["bad gateway", 502, "", "unavailable", false], ["no room", 503, "too_many_requests", "too_many", false],
  ["switched off", 503, "switched_off", "switched_off", false], ["unavailable", 503, "unavailable", "unavailable", false],
];
for (const [name, status, code, reason, final] of answers) {
  test(`an attempt that is answered ${status} ${name}`, async (t) => {
    const r = await relay(t, (_, res) => { if (code) problem(res, status, code); else res.writeHead(status).end(); });
    const metrics: Metric[] = [];
    const c = connect(t, r.url, { onMetric: (m) => metrics.push(m) });
    assert.deepEqual(await c.open("c", { follow: false }), { attached: false, reason });
    assert.equal(c.state.status, final ? "failed" : "idle");
    assert.equal(c.state.reason, reason);
    assert.equal(c.state.runId, null);
    assert.equal(r.asked.length, 1);
    assert.deepEqual(metrics.map((m) => m.type), final ? ["attach", "give_up"] : ["attach"]);
  });
}

test("an attempt on a dead address, and an empty answer", async (t) => {
  const r = await relay(t, (_, res) => { stream(res).end(); });
  const c = connect(t, r.url);
  assert.deepEqual(await c.open("c", { follow: false }), { attached: false, reason: "empty" });
  await r.close();
  const dead = connect(t, r.url);
  assert.deepEqual(await dead.open("c", { follow: false }), { attached: false, reason: "network" });
});

test("five attempts without progress, then it gives up, keeps what it has, and says why", async (t) => {
  const r = await relay(t, ({ n }, res) => {
    if (n === 1) stream(res).end(snapshot("r", 2, [delta("ab")]));
    else stream(res).end();
  });
  const metrics: Metric[] = [];
  const c = connect(t, r.url, { onMetric: (m) => metrics.push(m) });
  await c.open("c");
  const s = await until(c, ({ status }) => status === "failed");
  assert.equal(s.reason, "empty");
  assert.equal(s.runId, "r");
  assert.equal(text(s.events), "ab");
  assert.equal(s.end, null);
  assert.equal(r.asked.length, 6);
  assert.deepEqual(r.asked[5]!.body["after_seq"], 2);
  assert.equal(metrics.at(-1)!.type, "give_up");
});

test("HANG-02 a 204 in mid-run says that the run is gone, and is no end", async (t) => {
  const r = await relay(t, ({ n }, res) => {
    if (n === 1) stream(res).end(snapshot("r", 2, [delta("ab")]) + synced("r", 2));
    else if (n === 2) res.writeHead(204).end();
  });
  const c = connect(t, r.url);
  await c.open("c");
  const s = await until(c, ({ reason }) => reason === "gone");
  assert.equal(s.status, "idle");
  assert.equal(s.end, null);
  await eventually(() => r.asked.length === 3);
  assert.deepEqual(r.asked[2]!.body, { chat_id: "c", protocol: 1, synced: true, wait_ms: 30_000 });
});

test("HANG-02 CUR-06 a relay that answers a wait at once is asked at most once a second", async (t) => {
  const r = await relay(t, (_, res) => { res.writeHead(204).end(); });
  const c = connect(t, r.url);
  const seen = watch(c);
  assert.deepEqual(await c.open("c"), { attached: false, reason: "no_run" });
  await new Promise((resolve) => setTimeout(resolve, 2500));
  assert.ok(r.asked.length <= 5, `${r.asked.length} requests`);
  assert.deepEqual(seen.statuses, ["connecting", "idle"], "no flicker");
});

test("SEND-02 a superseded run is followed to its replacement, which begins anew", async (t) => {
  const r = await relay(t, ({ n }, res) => {
    stream(res);
    if (n === 1) res.end(snapshot("r1", 1, [delta("old")]) + end("r1", 1, { persisted: false, superseded: true, reason: "superseded", next_run_id: "r2" }));
    else if (n === 2) res.end(snapshot("r2", 1, [delta("new")]) + synced("r2", 1) + end("r2", 1));
  });
  const c = connect(t, r.url);
  const seen = watch(c);
  await c.open("c", { follow: false });
  const s = await until(c, ({ runId, end }) => runId === "r2" && end !== null);
  assert.equal(text(s.events), "new");
  assert.equal(seen.text, "new");
  assert.deepEqual(r.asked.map((a) => a.body["run_id"]), [undefined, "r2"]);
  assert.deepEqual(seen.changes.filter((x) => x.type === "end").length, 2);
});

test("TAB-03 the next run of the chat is shown as it comes, and a relay that gives the old one again is not believed", async (t) => {
  const r = await relay(t, ({ n }, res) => {
    if (n === 1) stream(res).end(snapshot("r1", 1, [delta("one")]) + end("r1", 1));
    else if (n === 2) stream(res).end(snapshot("r1", 1, [delta("one")]) + end("r1", 1));
    else if (n === 3) stream(res).end(snapshot("r2", 1, [delta("two")]) + end("r2", 1, { persisted: false, reason: "save_failed" }));
  });
  const c = connect(t, r.url);
  const seen = watch(c);
  await c.open("c");
  const s = await until(c, ({ runId, end }) => runId === "r2" && end !== null);
  assert.equal(s.end!.persisted, false);
  assert.equal(seen.changes.filter((x) => x.type === "end").length, 2);
  assert.equal(r.asked[1]!.body["ended_run_id"], "r1");
  assert.equal(r.asked[1]!.body["run_id"], undefined);
});

test("DUP-01 twenty opens of one chat are one stream", async (t) => {
  const r = await relay(t, (_, res) => { stream(res).write(snapshot("r", 1, [delta("a")]) + synced("r", 1)); });
  const c = connect(t, r.url);
  const all = await Promise.all(Array.from({ length: 20 }, () => c.open("c")));
  assert.ok(all.every((a) => a.attached));
  assert.deepEqual(await c.open("c"), { attached: true });
  assert.equal(r.asked.length, 1);
  assert.equal(text(c.state.events), "a");
});

test("another chat: what comes late from the old one is dropped, and nothing is told after close", async (t) => {
  const held: (() => void)[] = [];
  const r = await relay(t, ({ body }, res) => {
    stream(res).write(snapshot(`r-${String(body["chat_id"])}`, 1, [delta(String(body["chat_id"]))]));
    if (body["chat_id"] === "a") held.push(() => res.write(event("r-a", 2, delta("late"))));
  });
  const c = connect(t, r.url);
  const seen = watch(c);
  await c.open("a");
  const a = c.open("b");
  held.forEach((say) => say());
  await a;
  assert.equal(c.state.chatId, "b");
  assert.equal(seen.text, "b");
  c.close();
  const told = seen.changes.length;
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(seen.changes.length, told);
  assert.equal(c.state.chatId, null);
});

test("AUTH-02 a token is refreshed once per expiry, by all who need it together", async (t) => {
  let good = "t1";
  const r = await relay(t, ({ headers, path }, res) => {
    if (headers.authorization !== `Bearer ${good}`) return problem(res, 401, "token_expired");
    if (path !== "/chat/live") return void res.writeHead(202, { "Content-Type": "application/json" }).end('{"turns":[]}');
    stream(res).write(snapshot("r", 1, [delta("a")]) + synced("r", 1));
  });
  const asked: boolean[] = [];
  const c = connect(t, r.url, { token: async (expired) => { asked.push(expired); await new Promise((f) => setTimeout(f, 5)); return asked.length === 1 ? "t1" : "t2"; } });
  await c.open("c");
  assert.deepEqual(asked, [false]);
  good = "t2";
  r.cut();
  await Promise.all([c.history(), c.history(), until(c, ({ status }) => status === "live")]);
  await until(c, ({ status }) => status === "live" && r.asked.at(-1)!.headers.authorization === "Bearer t2");
  assert.deepEqual(asked, [false, true]);
  assert.equal(text(c.state.events), "a");
});

test("AUTH-02 a refresh that fails is another attempt; a fresh token that is refused is the last word", async (t) => {
  const r = await relay(t, (_, res) => { problem(res, 401, "token_expired"); });
  let n = 0;
  const c = connect(t, r.url, { token: (expired) => { n++; if (expired && n < 4) throw new Error("the issuer is away"); return `t${n}`; } });
  await c.open("c");
  const s = await until(c, ({ status }) => status === "failed");
  assert.equal(s.reason, "unauthenticated");
  assert.equal(n, 4, "one at first, two that failed, one that worked");
});

test("a send is sent once; its run is shown; a refusal is told with its problem", async (t) => {
  const r = await relay(t, ({ path, body }, res) => {
    if (path === "/chat/live") {
      if (body["run_id"] === "r9") stream(res).write(snapshot("r9", 0, []) + synced("r9", 0) + event("r9", 1, delta("hi")) + end("r9", 1));
      else if (!body["wait_ms"]) res.writeHead(204).end();
      return;
    }
    if (body["on_active"] === "reject") return problem(res, 409, "already_streaming", {}, { run_id: "r8" });
    res.writeHead(202, { "Content-Type": "application/json" }).end('{"chat_id":"c","turn_id":"t","run_id":"r9"}');
  });
  const chats: string[] = [];
  const c = connect(t, r.url, { onChats: (id) => chats.push(id) });
  await c.open("c");
  const sent = await c.send("hello");
  assert.equal(sent.runId, "r9");
  assert.equal(sent.acknowledged, true);
  await until(c, ({ end }) => end !== null);
  assert.equal(text(c.state.events), "hi");
  const sends = r.asked.filter((a) => a.path === "/chat/send");
  assert.deepEqual(sends.map((a) => a.body), [{ chat_id: "c", input: { text: "hello" }, client_token: sent.clientToken }]);
  assert.ok(chats.includes("c"));
  await assert.rejects(c.send("again", { onActive: "reject" }), (err: RejoinError) => err.code === "already_streaming" && err.status === 409 && err.problem["run_id"] === "r8");
});

test("SEND-01 a lost acknowledgement is recovered by observing, and the send is not repeated", async (t) => {
  let stored = false;
  const r = await relay(t, ({ path, body }, res, req) => {
    if (path === "/chat/send") {
      stored = true;
      req.socket.destroy();
    } else if (stored) stream(res).write(snapshot("r9", 1, [delta("hi")]) + synced("r9", 1));
    else if (!body["wait_ms"]) res.writeHead(204).end();
  });
  const c = connect(t, r.url);
  await c.open("c");
  const sent = await c.send("hello");
  assert.equal(sent.acknowledged, false);
  assert.equal(sent.runId, "r9");
  assert.equal(r.asked.filter((a) => a.path === "/chat/send").length, 1);
});

test("a send of which nothing is seen is unacknowledged, and is not repeated", async (t) => {
  const r = await relay(t, ({ path, body }, res, req) => {
    if (path === "/chat/send") req.socket.destroy();
    else if (!body["wait_ms"]) res.writeHead(204).end();
  });
  const c = connect(t, r.url, { answerTimeout: 300 });
  await c.open("c");
  await assert.rejects(c.send("hello", { clientToken: "tok" }), { code: "unacknowledged", problem: { client_token: "tok" } as never });
  assert.equal(r.asked.filter((a) => a.path === "/chat/send").length, 1);
});

test("a seed is shown at once, is the cursor, and a snapshot replaces it", async (t) => {
  const kept = new Map<string, string>();
  const seed = { getItem: (k: string) => kept.get(k) ?? null, setItem: (k: string, v: string) => void kept.set(k, v), removeItem: (k: string) => void kept.delete(k) };
  let replace = false;
  const r = await relay(t, ({ body }, res) => {
    if (replace) stream(res).write(snapshot("r", 3, [delta("xyz")]) + synced("r", 3));
    else if (body["after_seq"] === 2) stream(res).write(event("r", 3, delta("c")) + synced("r", 3));
    else stream(res).write(snapshot("r", 2, [delta("ab")]) + synced("r", 2));
  });
  const one = connect(t, r.url, { seed });
  await one.open("c");
  one.close();
  const two = connect(t, r.url, { seed });
  const seen = watch(two);
  const attached = two.open("c");
  assert.equal(text(two.state.events), "ab", "before any answer");
  await attached;
  await until(two, ({ status }) => status === "live");
  assert.equal(seen.text, "abc");
  two.close();
  replace = true;
  const three = connect(t, r.url, { seed });
  await three.open("c");
  assert.equal(text(three.state.events), "xyz");
  kept.set(`rejoin:${r.url}:c`, "{broken");
  const four = connect(t, r.url, { seed });
  void four.open("c");
  assert.deepEqual(four.state.events, []);
});

test("silence for too long is a break", async (t) => {
  const r = await relay(t, ({ n }, res) => {
    if (n === 1) stream(res).write(snapshot("r", 1, [delta("a")]) + synced("r", 1));
    else stream(res).end(event("r", 2, delta("b")) + end("r", 2));
  });
  const c = connect(t, r.url, { idleTimeout: 100 });
  await c.open("c");
  const s = await until(c, ({ status }) => status === "ended");
  assert.equal(text(s.events), "ab");
});

test("every tab hears of a run that one of them sees begin and end", async (t) => {
  const r = await relay(t, ({ body }, res) => { if (!body["wait_ms"]) stream(res).end(snapshot("r", 1, [delta("a")]) + end("r", 1)); });
  const heard: string[] = [];
  const other = connect(t, r.url, { onChats: (id) => heard.push(id) });
  await other.open("elsewhere", { follow: false });
  const before = heard.length;
  const c = connect(t, r.url);
  await c.open("c");
  await eventually(() => heard.slice(before).filter((id) => id === "c").length === 2);
});
