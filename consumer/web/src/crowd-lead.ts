// The tab that has the stream of all that share one: it asks POST /chats/live, and hands each what is its own.
import type { Requests } from "./requests.js";
import { type Ask, type Outcome, receive } from "./stream.js";

/** How many chats one stream takes. */
const most = 64;
/** How long to gather those who come and go before another stream is asked for, in milliseconds. */
const gather = 50;

/** To the one who leads: to the one named, where one is; and to all, `led` names who leads from now on: "" is nobody. */
export type Call =
  | { readonly join: string; readonly ask: Ask; readonly to: string }
  | { readonly leave: string }
  | { readonly alive: string; readonly to: string }
  | { readonly led: string };
/** To one member, by the one who leads: a frame's text, how its attempt ended, that the leader lives; without any, that the stream does. */
export interface Word {
  readonly by: string;
  readonly data?: string;
  readonly over?: Outcome;
  readonly alive?: true;
}

/** The reason of a signal that ends because another one leads already. */
export const taken = "taken";

export const ended = (signal: AbortSignal) => new Promise<void>((resolve) => {
  signal.addEventListener("abort", () => resolve());
  if (signal.aborted) resolve();
});

/** Leads, by the name of `me`, until signal ends or another one does. */
export async function lead(name: string, me: string, requests: Requests, signal: AbortSignal): Promise<void> {
  const members = new Map<string, { readonly ask: Ask; readonly words: BroadcastChannel }>();
  const calls = new BroadcastChannel(name);
  let stream = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const say = (id: string, word: Omit<Word, "by">) => members.get(id)?.words.postMessage({ by: me, ...word } satisfies Word);
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

  let replaced = () => {};
  const hear = (call: Call) => {
    if ("led" in call) {
      if (call.led && call.led !== me) replaced();
    } else if ("to" in call && call.to && call.to !== me) {
      // it is the other one's
    } else if ("join" in call) {
      drop(call.join);
      members.set(call.join, { ask: call.ask, words: new BroadcastChannel(`${name}:${call.join}`) });
      say(call.join, {});
      soon();
    } else if ("alive" in call) {
      say(call.alive, { alive: true });
    } else if (members.has(call.leave)) {
      drop(call.leave);
      soon();
    }
  };
  calls.onmessage = ({ data }: MessageEvent<Call>) => hear(data);
  calls.postMessage({ led: me } satisfies Call); // this tab's own attempt hears it too: it has another channel of that name
  await Promise.race([ended(signal), new Promise<void>((resolve) => { replaced = resolve; })]);
  clearTimeout(timer);
  stream.abort();
  if (signal.aborted && signal.reason !== taken) calls.postMessage({ led: "" } satisfies Call); // should the next one who holds the lock be frozen
  calls.close();
  for (const id of [...members.keys()]) drop(id);
}

/** The cursor from which two that watch one chat both have what follows: none, where they hold different runs. */
function earlier(a: Ask, b: Ask): Ask {
  if (a.run_id !== b.run_id || a.after_seq === undefined || b.after_seq === undefined) return { chat_id: a.chat_id, wait_ms: 0 };
  return a.after_seq < b.after_seq ? a : b;
}
