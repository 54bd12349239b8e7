// Tabs that share one stream: leaders that come and go, relays that share none, and tabs that must not share. Each connection here is
// a tab; the locks are a small model of the browser's.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { ServerResponse } from "node:http";
import type { Connection } from "../src/index.js";
import { connect, delta, end, event, eventually, problem, relay, snapshot, stream, synced, text, until, watch } from "./server.js";

/** navigator.locks, as far as it is used, and where the page is; until the test ends. */
function browser(t: TestContext) {
  const held = new Map<string, () => void>(); // with what takes each away
  const waiting = new Map<string, (() => void)[]>();
  type Callback = (lock: object | null) => unknown;
  type How = { ifAvailable?: boolean; signal?: AbortSignal; steal?: boolean };
  const grant = async (name: string, work: Callback) => {
    let robbed = () => {};
    const stolen = new Promise<never>((_, reject) => { robbed = () => reject(new DOMException("", "AbortError")); });
    held.set(name, robbed);
    await Promise.resolve();
    try {
      return await Promise.race([work({ name }), stolen]);
    } finally {
      if (held.get(name) === robbed) {
        held.delete(name);
        waiting.get(name)?.shift()?.();
      }
    }
  };
  const request = (name: string, a: Callback | How, b?: Callback): Promise<unknown> => {
    const work = b ?? (a as Callback);
    const { ifAvailable, signal, steal } = b ? (a as How) : {};
    if (steal && signal) return Promise.reject(new DOMException("", "NotSupportedError"));
    if (steal) held.get(name)?.();
    if (steal || !held.has(name)) return grant(name, work);
    if (ifAvailable) return Promise.resolve(work(null));
    return new Promise((resolve, reject) => {
      const turn = () => resolve(grant(name, work));
      const queue = waiting.get(name) ?? [];
      waiting.set(name, queue);
      queue.push(turn);
      signal?.addEventListener("abort", () => {
        const at = queue.indexOf(turn);
        if (at < 0) return;
        queue.splice(at, 1);
        reject(new DOMException("", "AbortError"));
      });
    });
  };
  const query = { fails: false };
  const locks = { request, query: () => (query.fails ? Promise.reject(new Error("put away")) : Promise.resolve({ held: [...held.keys()].map((name) => ({ name })) })) };
  const had = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  Object.defineProperty(globalThis, "navigator", { configurable: true, value: { locks } });
  Object.assign(globalThis, { location: { href: "http://app.invalid/" } });
  t.after(() => {
    if (had) Object.defineProperty(globalThis, "navigator", had);
    else Reflect.deleteProperty(globalThis, "navigator");
    Reflect.deleteProperty(globalThis, "location");
  });
  return { request, held, query };
}

/** A relay with chats in which events come, as /chat/live and /chats/live show them. */
async function house(t: TestContext, refuse?: (chats: string[], res: ServerResponse) => boolean) {
  interface Run { id: string; words: string[]; over: boolean }
  interface Place { chat: string; runId: string | undefined; seq: number; at: string | null; ended: string | undefined; idle: boolean; wait: boolean }
  const runs = new Map<string, Run>();
  const open = new Map<ServerResponse, Place[]>();
  const shared = { now: 0, all: 0 };
  const pump = (res: ServerResponse, places: Place[]) => {
    for (const p of places) {
      const run = runs.get(p.chat);
      const say = (s: string) => res.write(p.at === null ? s : `event: ${p.at}\n${s}`);
      if (!run || (p.ended === run.id && p.runId === undefined)) {
        if (p.at !== null && !p.idle) res.write(`event: ${p.at}\ndata: {"type":"STREAM_IDLE"}\n\n`);
        p.idle = true;
        continue;
      }
      p.idle = true;
      if (p.runId !== run.id || p.seq < 0 || p.seq > run.words.length) {
        say(snapshot(run.id, run.words.length, [delta(run.words.join(""))]));
        say(synced(run.id, run.words.length));
        p.runId = run.id;
        p.seq = run.words.length;
        p.ended = undefined;
      }
      while (p.seq < run.words.length) say(event(run.id, ++p.seq, delta(run.words[p.seq - 1]!)));
      if (run.over && p.ended !== run.id) {
        say(end(run.id, p.seq, { persisted: false, reason: "error" }));
        p.ended = run.id;
        if (p.at === null) { open.delete(res); res.end(); }
      }
    }
  };
  const r = await relay(t, ({ path, body }, res) => {
    const place = (b: Record<string, unknown>, at: string | null): Place => ({
      chat: String(b["chat_id"]), runId: b["run_id"] as string | undefined, seq: b["after_seq"] === undefined ? -1 : Number(b["after_seq"]), at,
      ended: b["ended_run_id"] as string | undefined, idle: false, wait: Number(b["wait_ms"]) > 0,
    });
    const places = path === "/chats/live" ? (body["chats"] as Record<string, unknown>[]).map((b, i) => place(b, String(i))) : [place(body, null)];
    assert.equal(new Set(places.map((p) => p.chat)).size, places.length, "each chat once");
    if (path === "/chats/live") {
      shared.all++;
      if (refuse?.(places.map((p) => p.chat), res)) return;
      shared.now++;
      res.on("close", () => shared.now--);
    } else {
      const run = runs.get(places[0]!.chat);
      if (!places[0]!.wait && (!run || (places[0]!.ended === run.id && !places[0]!.runId))) return void res.writeHead(204).end();
    }
    open.set(stream(res), places);
    res.on("close", () => open.delete(res));
    pump(res, places);
  });
  const all = () => { for (const [res, places] of [...open]) pump(res, places); };
  return {
    ...r, shared, runs,
    say(chat: string, word: string) {
      const run = runs.get(chat);
      if (run && !run.over) run.words.push(word);
      else runs.set(chat, { id: `${chat}-${word}`, words: [word], over: false });
      all();
    },
    end(chat: string) { runs.get(chat)!.over = true; all(); },
    text: (chat: string) => runs.get(chat)?.words.join("") ?? "",
    /** Breaks shared streams off as a relay does that goes away. */
    cutShared() { for (const [res, places] of [...open]) if (places[0]!.at !== null) res.destroy(); },
  };
}

/** Takes the three streams that tabs have for themselves. */
async function full(t: TestContext, url: string) {
  for (let i = 0; i < 3; i++) await connect(t, url).open(`own-${i}`);
}

/** Holds against what a connection says: each event once and in order. */
function exact(c: Connection) {
  const seen = watch(c);
  let last = 0;
  c.subscribe((s, change) => {
    if (change.type === "reset") last = s.seq;
    if (change.type === "event") assert.equal(change.seq, ++last, "each once, in order");
    if (s.status !== "connecting") assert.equal(seen.text, text(s.events));
  });
  return seen;
}

test("TAB-01 leaders and members that come and go at any moment: each tab has each event once", async (t) => {
  browser(t);
  const h = await house(t);
  for (let i = 0; i < 3; i++) h.say(`own-${i}`, "x");
  await full(t, h.url);
  let seed = 7;
  const random = (n: number) => (seed = (seed * 48271) % 2147483647) % n;
  const pick = <T>(of: T[]) => of[random(of.length)]!;
  const chats = ["a", "b", "c"];
  const tabs: { c: Connection; chat: string }[] = [];
  const add = () => {
    const c = connect(t, h.url);
    exact(c);
    const chat = pick(chats);
    void c.open(chat);
    tabs.push({ c, chat });
  };
  for (let i = 0; i < 6; i++) add();
  for (let i = 0; i < 250; i++) {
    const what = random(20);
    if (what < 10) h.say(pick(chats), `${i} `);
    else if (what < 12) { const chat = pick(chats); if (h.runs.has(chat)) h.end(chat); }
    else if (what < 14) tabs.splice(random(tabs.length), 1)[0]?.c.close(); // the first one leads
    else if (what < 15) tabs.shift()?.c.close();
    else if (what < 16) h.cutShared();
    else if (what < 18) { const tab = tabs[random(tabs.length)]; if (tab) void tab.c.open((tab.chat = pick(chats))); }
    else if (tabs.length < 9) add();
    if (random(3) === 0) await new Promise((f) => setTimeout(f, random(40)));
  }
  for (const chat of chats) h.say(chat, "last");
  while (tabs.length < 4) add();
  await Promise.all(tabs.map(({ c, chat }) => until(c, (s) => text(s.events) === h.text(chat))));
  await eventually(() => h.shared.now === 1);
  for (const { c } of tabs) c.close();
});

test("TAB-01 a relay that shares no streams, or refuses one of the chats: each tab asks for itself", async (t) => {
  browser(t);
  const h = await house(t, (_, res) => { problem(res, 404, "not_found"); return true; });
  for (const chat of ["own-0", "own-1", "own-2", "a", "b"]) h.say(chat, "1");
  await full(t, h.url);
  const tabs = ["a", "b"].map((chat) => { const c = connect(t, h.url); exact(c); void c.open(chat); return { c, chat }; });
  await Promise.all(tabs.map(({ c }) => until(c, (s) => s.status === "live")));
  h.say("a", "2");
  h.say("b", "3");
  await Promise.all(tabs.map(({ c, chat }) => until(c, (s) => text(s.events) === h.text(chat))));
  assert.ok(h.shared.all <= 4, `${h.shared.all} shared streams asked for`);
});

test("TAB-01 an attempt in a chat whose run is over, and not saved: there is nothing to watch", async (t) => {
  browser(t);
  const h = await house(t);
  for (const chat of ["own-0", "own-1", "own-2", "a"]) h.say(chat, "1");
  await full(t, h.url);
  const c = connect(t, h.url);
  await c.open("a");
  h.end("a");
  await until(c, (s) => s.end !== null);
  assert.deepEqual(await c.retry(), { attached: false, reason: "no_run" });
  h.say("a", "2");
  await until(c, (s) => s.end === null && text(s.events) === "2");
});

test("TAB-01 one user's tabs in two tenants, and tabs with headers of their own, share nothing; a fresh token changes nothing", async (t) => {
  browser(t);
  const h = await house(t);
  for (const chat of ["own-0", "own-1", "own-2", "a", "b", "c", "d"]) h.say(chat, "1");
  await full(t, h.url);
  const token = (claims: Record<string, unknown>) => `h.${Buffer.from(JSON.stringify({ iss: "i", sub: "Ünïcode\"\n", ...claims })).toString("base64url")}.s`;
  const one = connect(t, h.url, { token: token({ org: "one", exp: 1 }) });
  const again = connect(t, h.url, { token: token({ org: "one", exp: 2, jti: "x" }) });
  const two = connect(t, h.url, { token: token({ org: "two" }) });
  const other = connect(t, h.url, { token: token({ org: "two" }), headers: { "X-Tenant": "three" } });
  const odd = connect(t, h.url, { token: "-/\"]}:lead" });
  const all = [[one, "a"], [again, "b"], [two, "a"], [other, "a"], [odd, "a"]] as const;
  await Promise.all(all.map(([c, chat]) => c.open(chat)));
  await Promise.all(all.map(([c]) => until(c, (s) => s.status === "live")));
  await eventually(() => h.shared.now === 4);
});

test("TAB-01 a token that never comes, in a tab that shares: a timeout", async (t) => {
  browser(t);
  const h = await house(t);
  for (const chat of ["own-0", "own-1", "own-2"]) h.say(chat, "1");
  await full(t, h.url);
  const c = connect(t, h.url, { token: () => new Promise<never>(() => {}), answerTimeout: 60 });
  assert.deepEqual(await c.open("a", { follow: false }), { attached: false, reason: "timeout" });
});

test("TAB-01 a lock that passes to a tab that is frozen, or a page that may not ask who is there: the others go on", async (t) => {
  const b = browser(t);
  const h = await house(t);
  for (const chat of ["own-0", "own-1", "own-2", "a", "b"]) h.say(chat, "1");
  await full(t, h.url);
  const leader = connect(t, h.url);
  await leader.open("a");
  const lead = [...b.held.keys()].find((name) => name.endsWith(":lead"))!;
  let thaw = () => {};
  b.request(lead, () => new Promise<void>((f) => { thaw = f; })).catch(() => {}); // next in line, and frozen
  t.after(() => thaw());
  const c = connect(t, h.url);
  exact(c);
  await c.open("b");
  await until(c, (s) => s.status === "live");
  leader.close();
  h.say("b", "2");
  await until(c, (s) => text(s.events) === "12", 5_000);
  c.close();
  thaw();
  b.query.fails = true;
  const last = connect(t, h.url);
  assert.deepEqual(await last.open("a", { follow: false }), { attached: false, reason: "interrupted" });
});

/** A tab that leads until it is told to hang: what it does is up to the test. */
async function hanging(b: ReturnType<typeof browser>, url: string, t: TestContext) {
  const scout = connect(t, url);
  await scout.open("scout");
  const lead = [...b.held.keys()].find((name) => name.endsWith(":lead"))!;
  scout.close();
  await eventually(() => !b.held.has(lead));
  const heard: { join?: string; alive?: string; led?: string }[] = [];
  const channels = new Map<string, BroadcastChannel>();
  const say = (id: string, word: object) => {
    if (!channels.has(id)) channels.set(id, new BroadcastChannel(`${lead.slice(0, -":lead".length)}:${id}`));
    channels.get(id)!.postMessage({ by: "hanging", ...word });
  };
  const hang = { on: false, stolen: false, heard, say };
  const calls = new BroadcastChannel(lead.slice(0, -":lead".length));
  calls.onmessage = ({ data }) => {
    heard.push(data as typeof heard[number]);
    if (!hang.on && data.join) say(data.join, {});
    if (!hang.on && data.alive) say(data.alive, { alive: true });
  };
  let over = () => {};
  void b.request(lead, () => new Promise<void>((f) => { over = f; })).catch(() => { hang.stolen = true; });
  t.after(() => { over(); calls.close(); for (const channel of channels.values()) channel.close(); });
  return hang;
}

test("TAB-02 a tab that leads and hangs, its lock in hand: the others go on within seconds, and do not hear it any more", async (t) => {
  const b = browser(t);
  const h = await house(t);
  for (const chat of ["own-0", "own-1", "own-2", "scout", "a", "b"]) h.say(chat, "1");
  await full(t, h.url);
  const hang = await hanging(b, h.url, t);
  const [a, c] = ["a", "b"].map((chat) => {
    const one = connect(t, h.url);
    exact(one);
    void one.open(chat);
    return one;
  }) as [Connection, Connection];
  await eventually(() => hang.heard.filter((call) => call.join).length === 2);
  // A silent run: who leads is asked and answers, so that it goes on leading.
  await eventually(() => hang.heard.filter((call) => call.alive).length >= 2, 20_000);
  assert.equal(hang.stolen, false);
  assert.equal(h.shared.now, 0);
  hang.on = true;
  const since = performance.now();
  await Promise.all([a, c].map((one) => until(one, (s) => text(s.events) === "1", 20_000)));
  const ms = performance.now() - since;
  assert.ok(ms < 15_000, `${ms} ms`); // without, as long as a silent stream is waited for: 45 s
  assert.equal(hang.stolen, true);
  await eventually(() => h.shared.now === 1); // one stream for both
  const [one] = hang.heard.flatMap((call) => call.join ?? []);
  hang.say(one!, { data: JSON.stringify({ type: "STREAM_EVENT", run_id: "a-1", seq: 9, event: {} }) }); // it wakes up, and does not know better
  for (const chat of ["a", "b"]) h.say(chat, "2");
  await Promise.all([a, c].map((each) => until(each, (s) => text(s.events) === "12")));
});

test("TAB-02 a tab that wakes up while another leads: it is led, and leads again when that one leaves", async (t) => {
  const b = browser(t);
  const h = await house(t);
  for (const chat of ["own-0", "own-1", "own-2", "a", "b"]) h.say(chat, "1");
  await full(t, h.url);
  const old = connect(t, h.url);
  exact(old);
  await old.open("a");
  const lead = [...b.held.keys()].find((name) => name.endsWith(":lead"))!;
  let over = () => {};
  void b.request(lead, { steal: true }, () => new Promise<void>((f) => { over = f; }));
  t.after(() => over());
  await eventually(() => h.shared.now === 0); // what it led by is given up
  over();
  await until(old, (s) => s.status === "live");
  h.say("a", "2");
  await until(old, (s) => text(s.events) === "12");
  await eventually(() => h.shared.now === 1);
});

test("TAB-01 chats that are switched off do not take the others along; more chats than a stream takes", async (t) => {
  browser(t);
  const h = await house(t, (chats, res) => {
    const at = chats.flatMap((chat, i) => (chat.startsWith("off") ? [i] : []));
    if (at.length) problem(res, 503, "switched_off", { "Retry-After": "60" }, { chats: at });
    return at.length > 0;
  });
  const names = Array.from({ length: 64 }, (_, i) => `c${i}`);
  for (const chat of ["own-0", "own-1", "own-2", ...names, "off"]) h.say(chat, "1");
  await full(t, h.url);
  const off = connect(t, h.url);
  const opened = off.open("off");
  const tabs = names.map((chat) => { const c = connect(t, h.url); exact(c); return { c, chat, opened: c.open(chat) }; });
  assert.deepEqual(await opened, { attached: false, reason: "switched_off" });
  await Promise.all(tabs.map(({ c }) => until(c, (s) => s.status === "live")));
  const more = connect(t, h.url);
  assert.deepEqual(await more.open("own-0", { follow: false }), { attached: false, reason: "too_many" });
  for (const chat of names) h.say(chat, "2");
  await Promise.all(tabs.map(({ c }) => until(c, (s) => text(s.events) === "12")));
  assert.equal(h.shared.now, 1);
});

test("TAB-02 hidden, shown, frozen, put away, retried, pointed elsewhere and broken off in any order: each event once", async (t) => {
  const page = Object.assign(new EventTarget(), { hidden: false });
  const frame = new EventTarget();
  Object.assign(globalThis, { document: page, window: frame });
  t.after(() => { Reflect.deleteProperty(globalThis, "document"); Reflect.deleteProperty(globalThis, "window"); });
  const h = await house(t);
  let seed = 11;
  const random = (n: number) => (seed = (seed * 48271) % 2147483647) % n;
  const chats = ["a", "b"];
  const c = connect(t, h.url);
  exact(c);
  let chat = "a";
  const open: Promise<unknown>[] = [c.open(chat)];
  for (let i = 0; i < 400; i++) {
    const what = random(24);
    if (what < 8) h.say(chats[random(2)]!, `${i} `);
    else if (what < 10) { const over = chats[random(2)]!; if (h.runs.has(over)) h.end(over); }
    else if (what < 12) h.cut();
    else if (what < 14) open.push(c.retry());
    else if (what < 16) open.push(c.open((chat = chats[random(2)]!)));
    else if (what < 17) { c.close(); open.push(c.open(chat)); }
    else page.dispatchEvent(new Event(["visibilitychange", "freeze", "resume"][random(3)]!));
    if (what > 21) frame.dispatchEvent(new Event(["pagehide", "pageshow", "online"][random(3)]!));
    if (random(2) === 0) await new Promise((f) => setTimeout(f, random(12)));
  }
  page.dispatchEvent(new Event("resume"));
  for (const each of chats) h.say(each, "last");
  await until(c, (s) => text(s.events) === h.text(chat));
  await Promise.all(open); // each came to something
  await eventually(() => h.open.now === 1);
});
