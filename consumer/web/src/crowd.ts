// One stream for the tabs that have none of their own. One of them, whoever holds a lock, leads: it asks POST /chats/live for all,
// and hands each what is its own. When it leaves, the lock passes on, and all come back with their cursors.
import { Malformed, parseFrame } from "./frames.js";
import { type Requests, TokenError } from "./requests.js";
import { type Ask, type Outcome, receive, type Source } from "./stream.js";
import { unless } from "./tell.js";
import type { Options, Token } from "./types.js";

/** How many chats one stream takes. */
const most = 64;
/** How long to gather those who come and go before another stream is asked for, in milliseconds. */
const gather = 50;
/** How long the one who leads may take to say so, in milliseconds: a tab that is frozen leads nobody. */
const frozenAfter = 1_500;

/** To the one who leads. */
type Call = { readonly join: string; readonly ask: Ask } | { readonly leave: string } | { readonly led: true };
/** To one member: a frame's text, how its attempt ended, or a sign of life. */
type Word = { readonly data: string } | { readonly over: Outcome } | Record<string, never>;

/** The source of a tab that shares. `direct` is for when nobody leads. */
export function together(origin: string, requests: Requests, direct: Source): Source {
  return async (ask, ear, signal) => {
    if (plentiful(origin)) return direct(ask, ear, signal);
    const { options } = requests;
    let name: string;
    try {
      const token = await unless(signal, unless(AbortSignal.timeout(options.answerTimeout ?? 15_000), requests.token()));
      name = `rejoin:${options.url ? new URL(options.url, location.href).href : origin}:${who(options, token)}`;
    } catch (err) {
      return { reason: err instanceof TokenError ? "unauthenticated" : "timeout" };
    }
    const id = crypto.randomUUID();
    const gone = new AbortController(); // ends with this attempt
    const calls = new BroadcastChannel(name);
    const words = new BroadcastChannel(`${name}:${id}`);
    const { idleTimeout = 45_000 } = options;
    return new Promise<Outcome>((resolve) => {
      let now = ask; // with the cursor, as it moves
      let alarm: ReturnType<typeof setTimeout>;
      const done = (outcome: Outcome | Promise<Outcome>) => {
        if (gone.signal.aborted) return;
        clearTimeout(alarm);
        signal.removeEventListener("abort", stop);
        calls.postMessage({ leave: id } satisfies Call);
        gone.abort();
        calls.close();
        words.close();
        resolve(outcome);
      };
      const stop = () => done({});
      const within = (ms: number, otherwise: () => void) => {
        clearTimeout(alarm);
        alarm = setTimeout(otherwise, ms);
      };
      const join = () => {
        calls.postMessage({ join: id, ask: now } satisfies Call);
        within(frozenAfter, () => done(direct(now, ear, signal)));
      };
      words.onmessage = ({ data: word }: MessageEvent<Word>) => {
        if (gone.signal.aborted) return;
        ear.heard();
        within(idleTimeout, () => done({ reason: "timeout" }));
        if ("over" in word) {
          const outcome = word["over"] as Outcome;
          return done(outcome.final ? direct(now, ear, signal) : outcome); // a relay that shares no streams, or one for all: each hears for itself what is wrong
        }
        if (!("data" in word)) return;
        try {
          const text = word["data"] as string;
          if (/^\{"type":"STREAM_IDLE"/.test(text)) return ask.wait_ms ? undefined : done({ nothing: true });
          const f = parseFrame(text);
          if (!f) return;
          if (!ear.frame(f)) return done({});
          if (f.type === "STREAM_END" && !ask.wait_ms) return done({ nothing: true }); // an end that is known already: the chat has no other run
          now = { ...now, run_id: f.run_id, after_seq: f.seq };
        } catch (err) {
          done({ reason: err instanceof Malformed ? "malformed" : "interrupted" });
        }
      };
      calls.onmessage = ({ data: call }: MessageEvent<Call>) => { if ("led" in call) join(); };
      signal.addEventListener("abort", stop);
      if (signal.aborted) return stop();
      // Held for as long as this attempt lives, so that the one who leads finds out about a tab that has crashed.
      void navigator.locks.request(`${name}:${id}`, { signal: gone.signal }, () => ended(gone.signal)).catch(() => {});
      void navigator.locks.request(`${name}:lead`, { signal: gone.signal }, () => lead(name, requests, gone.signal)).catch(() => {});
      join();
    });
  };
}

/** Whether the host is known to be spoken to over HTTP/2 or later, where one connection is enough for everything. */
function plentiful(origin: string): boolean {
  const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")] as PerformanceResourceTiming[];
  return all.some((e) => /^h[23]/.test(e.nextHopProtocol) && e.name.startsWith(`${origin}/`));
}

const ended = (signal: AbortSignal) => new Promise<void>((resolve) => { signal.addEventListener("abort", () => resolve()); });

/** Leads until signal ends. */
async function lead(name: string, requests: Requests, signal: AbortSignal): Promise<void> {
  const members = new Map<string, { readonly ask: Ask; readonly words: BroadcastChannel }>();
  const calls = new BroadcastChannel(name);
  let stream = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const say = (id: string, word: Word) => members.get(id)?.words.postMessage(word);
  const drop = (id: string, over?: Outcome) => {
    if (over) say(id, { over });
    members.get(id)?.words.close();
    members.delete(id);
  };

  /** Asks for all chats at once. Who watches one that others watch too gets what they get, and drops what it has. */
  const open = async () => {
    clearTimeout(timer);
    timer = undefined;
    stream.abort();
    const own = (stream = new AbortController()).signal;
    const held = new Set((await navigator.locks.query()).held?.map((lock) => lock.name));
    for (const id of [...members.keys()]) if (!held.has(`${name}:${id}`)) drop(id, { reason: "interrupted" }); // heard by one that is alive after all
    if (own.aborted) return;
    const chats = new Map<string, { readonly ids: string[]; ask: Ask }>();
    for (const [id, { ask }] of members) {
      const chat = chats.get(ask.chat_id);
      if (chat) {
        chat.ids.push(id);
        chat.ask = earlier(chat.ask, ask);
      } else if (chats.size < most) {
        chats.set(ask.chat_id, { ids: [id], ask });
      } else {
        drop(id, { reason: "too_many" });
      }
    }
    if (!chats.size) return;
    const places = [...chats.values()];
    const outcome = await receive(requests, "/chats/live", {
      protocol: 1, synced: true, chats: places.map(({ ask: { chat_id, run_id, after_seq } }) => ({ chat_id, run_id, after_seq })),
    }, 0, (event, data) => {
      const place = places[Number(event)];
      for (const id of place?.ids ?? []) {
        say(id, { data });
        const member = members.get(id);
        const at = /^\{"type":"STREAM_(?:SNAPSHOT|EVENT|SYNCED)","run_id":"([^"\\]*)","seq":(\d+)/.exec(data);
        if (member && at) members.set(id, { ...member, ask: { ...member.ask, run_id: at[1], after_seq: Number(at[2]) } });
      }
      return true;
    }, () => { for (const id of members.keys()) say(id, {}); }, own);
    if (own.aborted) return;
    const off = Array.isArray(outcome.chats) ? (outcome.chats as number[]).flatMap((n) => places[n]?.ids ?? []) : []; // where some are, the others go on
    for (const id of off.length ? off : [...members.keys()]) drop(id, outcome);
    if (members.size) soon();
  };
  // The timers of a hidden tab come once a second, or once a minute, for which those who are looked at do not have to wait.
  const soon = () => {
    if (globalThis.document?.hidden) void go();
    else timer ??= setTimeout(() => void go(), gather);
  };
  const go = () => open().catch(() => { for (const id of [...members.keys()]) drop(id, { reason: "interrupted" }); }); // a page that is put away

  const hear = (call: Call) => {
    if ("join" in call) {
      drop(call.join);
      members.set(call.join, { ask: call.ask, words: new BroadcastChannel(`${name}:${call.join}`) });
      say(call.join, {});
      soon();
    } else if ("leave" in call && members.has(call.leave)) {
      drop(call.leave);
      soon();
    }
  };
  calls.onmessage = ({ data }: MessageEvent<Call>) => hear(data);
  calls.postMessage({ led: true } satisfies Call); // this tab's own attempt hears it too: it has another channel of that name
  await ended(signal);
  clearTimeout(timer);
  stream.abort();
  calls.postMessage({ led: true } satisfies Call); // by nobody, should the next one who holds the lock be frozen
  calls.close();
  for (const id of [...members.keys()]) drop(id);
}

/** The cursor from which two that watch one chat both have what follows: none, where they hold different runs. */
function earlier(a: Ask, b: Ask): Ask {
  if (a.run_id !== b.run_id || a.after_seq === undefined || b.after_seq === undefined) return { chat_id: a.chat_id, wait_ms: 0 };
  return a.after_seq < b.after_seq ? a : b;
}

/** What a token says of itself, and not of its user. */
const ofTheToken = new Set(["exp", "iat", "nbf", "jti"]);

/**
 * Whose requests these are, as far as that can be told: tabs of different users share nothing, nor do those of one user in two tenants. Which
 * claim names the tenant is the relay's business, so all have to be the same.
 */
function who({ headers }: Options, token: Token): string {
  let claims: unknown = token ?? "";
  try {
    const all = JSON.parse(atob(token!.split(".")[1]!.replace(/-/g, "+").replace(/_/g, "/"))) as Record<string, unknown>;
    if (all["sub"]) claims = Object.entries(all).filter(([claim]) => !ofTheToken.has(claim));
  } catch { /* no JSON Web Token: only the same one is the same user's */ }
  return JSON.stringify([claims, headers]);
}
