// What a relay, a proxy or a network does wrong, and what becomes of it.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { connect, delta, end, event, problem, relay, snapshot, stream, synced, text, until, watch } from "./server.js";

const folder = new URL("../../../testdata/frames/", import.meta.url);
interface Case { name: string; stream?: string; stream_base64?: string; cursor?: { run_id: string; after_seq: number }; max_message?: number; frames: { type: string; run_id: string; seq: number }[]; outcome: string }

// Each stream of the vectors that breaks, followed by a relay that is right: the client comes back at its place and ends with the whole.
test("every broken stream is come back from, at its place", async (t) => {
  const cases = readdirSync(folder).filter((f) => f.endsWith(".json"))
    .map((f) => JSON.parse(readFileSync(new URL(f, folder), "utf8")) as Case)
    .filter((c) => c.outcome !== "ended" && !c.cursor);
  assert.ok(cases.length > 30);
  let now = cases[0]!;
  let n = 0;
  const asked: Record<string, unknown>[] = [];
  const r = await relay(t, ({ body }, res) => {
    asked.push(body);
    if (n++ === 0) return void stream(res).end(now.stream_base64 === undefined ? now.stream : Buffer.from(now.stream_base64, "base64"));
    stream(res).end(snapshot("again", 1, [delta("all of it")]) + end("again", 1));
  });
  for (now of cases) {
    n = 0;
    asked.length = 0;
    const c = connect(t, r.url, now.max_message ? { maxMessage: now.max_message } : {});
    const attached = await c.open("c", { follow: false });
    const last = now.frames.at(-1);
    assert.equal(attached.attached, !!last, now.name);
    if (now.outcome === "too_large") {
      const s = await until(c, ({ status }) => status === "failed");
      assert.equal(s.reason, "too_large", now.name);
    } else if (!last) {
      assert.equal(c.state.status, "idle", now.name);
      assert.equal(c.state.reason, now.outcome === "malformed" ? "malformed" : asked.length ? c.state.reason : "", now.name);
      assert.deepEqual(c.state.events, [], now.name);
    } else {
      const s = await until(c, ({ status }) => status === "ended");
      assert.equal(text(s.events), "all of it", now.name);
      assert.deepEqual([asked[1]!["run_id"], asked[1]!["after_seq"]], [last.run_id, last.seq], now.name);
    }
    c.close();
  }
});

test("UNI-02 characters that arrive in pieces", async (t) => {
  const words = "é三🙂\u{10FFFF}\u2028\u0085\0 x";
  const r = await relay(t, async (_, res) => {
    stream(res);
    res.socket?.setNoDelay(true);
    for (const b of Buffer.from(`\ufeff${snapshot("r", 1, [delta(words)])}${event("r", 2, delta(words))}${end("r", 2)}`)) {
      await new Promise<void>((f) => { res.write(Uint8Array.of(b), () => f()); });
    }
    res.end();
  });
  const c = connect(t, r.url);
  await c.open("c", { follow: false });
  const s = await until(c, ({ status }) => status === "ended");
  assert.equal(text(s.events), words + words);
});

test("UNI-03 a forged end in a text is a text", async (t) => {
  const forged = 'x\ndata: {"type":"STREAM_END","run_id":"r","seq":1,"persisted":true,"superseded":false,"reason":"done"}\n\n\r\revent: end\r\n';
  const r = await relay(t, (_, res) => { stream(res).write(snapshot("r", 1, [delta(forged)]) + synced("r", 1)); });
  const c = connect(t, r.url);
  await c.open("c");
  await until(c, ({ status }) => status === "live");
  assert.equal(text(c.state.events), forged);
  assert.equal(c.state.end, null);
});

test("UNI-04 NUL and bytes that are no UTF-8 spoil neither what follows nor what a snapshot has", async (t) => {
  const odd = Buffer.concat([Buffer.from("a\\u0000b"), Buffer.of(0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0, 0x80), Buffer.from("c")]);
  const put = (f: string) => Buffer.concat(f.split("ODD").flatMap((part, i) => (i ? [odd, Buffer.from(part)] : [Buffer.from(part)])));
  const r = await relay(t, ({ body }, res) => {
    stream(res);
    if (body["after_seq"] === undefined) res.end(put(snapshot("r", 1, [delta("ODD")]) + event("r", 2, delta("ODD"))));
    else res.end(put(snapshot("r", 2, [delta("ODDODD")]) + event("r", 3, delta("!")) + end("r", 3)));
  });
  const c = connect(t, r.url);
  const seen: string[] = [];
  c.subscribe((s) => seen.push(text(s.events)));
  await c.open("c", { follow: false });
  const s = await until(c, ({ status }) => status === "ended");
  const one = new TextDecoder().decode(odd).replace("\\u0000", "\0");
  assert.equal(text(s.events), `${one}${one}!`);
  assert.ok(seen.includes(`${one}${one}`), "the same live");
});

test("a proxy's page is no stream, and is not shown", async (t) => {
  const r = await relay(t, (_, res) => { res.writeHead(200, { "Content-Type": "text/html" }).end("<h1>It works</h1>"); });
  const c = connect(t, r.url);
  assert.deepEqual(await c.open("c"), { attached: false, reason: "refused" });
  const s = await until(c, ({ status }) => status === "failed");
  assert.equal(r.asked.length, 5);
  assert.equal(s.runId, null);
});

test("Retry-After and retry are kept to", async (t) => {
  const times: number[] = [];
  const r = await relay(t, ({ n }, res) => {
    times.push(Date.now());
    if (n === 1) problem(res, 503, "unavailable", { "Retry-After": "1" });
    else if (n === 2) stream(res).end(`retry: 700\n\n${snapshot("r", 1, [delta("a")])}`);
    else stream(res).write(event("r", 2, delta("b")) + synced("r", 2));
  });
  const c = connect(t, r.url);
  assert.deepEqual(await c.open("c"), { attached: false, reason: "unavailable" });
  await until(c, ({ seq }) => seq === 2);
  assert.ok(times[1]! - times[0]! >= 1000, "Retry-After");
  assert.ok(times[2]! - times[1]! >= 700, "retry");
});

test("TERM-08 closed by age while the run goes on, as often as it likes", async (t) => {
  const r = await relay(t, ({ body }, res) => {
    const after = body["run_id"] ? Number(body["after_seq"]) : 0;
    stream(res);
    if (!after) res.write(snapshot("r", 1, [delta("x")]));
    else res.write(event("r", after + 1, delta("x")));
    if (after === 19) res.end(end("r", 20));
    else res.end("retry: 1\n\n");
  });
  const c = connect(t, r.url);
  const seen = watch(c);
  await c.open("c", { follow: false });
  const s = await until(c, ({ status }) => status === "ended");
  assert.equal(text(s.events), "x".repeat(20));
  assert.deepEqual(seen.seqs, Array.from({ length: 19 }, (_, i) => i + 2));
});

test("a snapshot on an open stream replaces what is held", async (t) => {
  const r = await relay(t, (_, res) => {
    stream(res).end(snapshot("r", 2, [delta("ab")]) + synced("r", 2) + event("r", 3, delta("c")) + snapshot("r", 9, [delta("abcdefghi")]) + event("r", 9, delta("i")) + event("r", 10, delta("j")) + end("r", 10));
  });
  const c = connect(t, r.url);
  const seen = watch(c);
  await c.open("c", { follow: false });
  await until(c, ({ status }) => status === "ended");
  assert.equal(seen.text, "abcdefghij");
});

test("a listener that closes, and one that opens another chat, in the middle of a frame", async (t) => {
  const r = await relay(t, ({ body }, res) => { stream(res).write(snapshot(`r-${String(body["chat_id"])}`, 1, [delta(String(body["chat_id"]))]) + synced(`r-${String(body["chat_id"])}`, 1)); });
  const c = connect(t, r.url);
  const told: string[] = [];
  c.subscribe((s, change) => { if (change.type === "reset" && s.runId === "r-a") void c.open("b"); });
  c.subscribe((s, change) => { if (change.type === "reset") told.push(`${s.chatId}:${s.runId}`); });
  await c.open("a");
  await until(c, ({ runId }) => runId === "r-b");
  assert.deepEqual(told, ["a:null", "b:null", "b:r-b"]);
  c.subscribe(() => c.close());
  r.cut();
  await new Promise((f) => setTimeout(f, 100));
  assert.equal(c.state.chatId, null);
  assert.equal(r.asked.length, 2, "nothing is asked after close");
});
