// One stream for the tabs that have none of their own. One of them, whoever holds a lock, leads (crowd-lead.ts), and hands each what is its own.
// When it leaves, the lock passes on, and all come back with their cursors. One that only stops to answer, for its page hangs or its
// process was put to sleep, keeps the lock: so a tab that has heard nothing for a while asks, and without an answer takes the lock away.
import { type Call, ended, lead, taken, type Word } from "./crowd-lead.js";
import { plentiful, who } from "./crowd-who.js";
import { Malformed, parseFrame } from "./frames.js";
import { type Requests, TokenError } from "./requests.js";
import type { Outcome, Source } from "./stream.js";
import { unless } from "./tell.js";

/** How long the one who leads may take to answer, in milliseconds. It hears at once even in a hidden tab, which only has its timers held back. */
const frozenAfter = 1_500;
/** How long nothing may be heard before the one who leads is asked for a sign of life, in milliseconds. Runs are silent for longer than that. */
const quiet = 3_000;

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
      let leader = ""; // the one that is listened to; "" for whoever speaks first
      let silence: ReturnType<typeof setTimeout>; // of the stream
      let doubt: ReturnType<typeof setTimeout>; // whether anybody leads
      let taking = false; // nobody did, so this tab has begun to
      const done = (outcome: Outcome | Promise<Outcome>) => {
        if (gone.signal.aborted) return;
        clearTimeout(silence);
        clearTimeout(doubt);
        signal.removeEventListener("abort", stop);
        calls.postMessage({ leave: id } satisfies Call);
        gone.abort();
        calls.close();
        words.close();
        resolve(outcome);
      };
      const stop = () => done({});
      const alone = () => done(direct(now, ear, signal));
      /** Says what has to be answered. A tab that was away itself may have an answer that it has not read: it says it once more. */
      const say = (call: Call, first = true) => {
        const since = performance.now();
        calls.postMessage(call);
        clearTimeout(doubt);
        doubt = setTimeout(() => {
          if (first && performance.now() - since > 2 * frozenAfter) return say(call, false);
          if (taking) return alone();
          taking = true;
          doubt = setTimeout(alone, frozenAfter);
          void stand(true);
        }, frozenAfter);
      };
      const join = (to: string) => say({ join: id, ask: now, to: (leader = to) });
      // Only a tab that is looked at: nobody waits for the others, and whoever shows one has it try again.
      const check = () => { if (!globalThis.document?.hidden) say({ alive: id, to: leader }); };
      words.onmessage = ({ data: word }: MessageEvent<Word>) => {
        if (gone.signal.aborted || (leader && word.by !== leader)) return; // one that led before, and does not know better yet
        leader = word.by;
        taking = false;
        clearTimeout(doubt);
        doubt = setTimeout(check, quiet);
        if (word.alive) return; // which says nothing of its stream
        ear.heard();
        clearTimeout(silence);
        silence = setTimeout(() => done({ reason: "timeout" }), idleTimeout);
        if (word.over) return word.over.final ? alone() : done(word.over); // a relay that shares no streams, or one for all: each hears for itself what is wrong
        if (word.data === undefined) return;
        try {
          if (/^\{"type":"STREAM_IDLE"/.test(word.data)) return ask.wait_ms ? undefined : done({ nothing: true });
          const f = parseFrame(word.data);
          if (!f) return;
          if (!ear.frame(f)) return done({});
          if (f.type === "STREAM_END" && !ask.wait_ms) return done({ nothing: true }); // an end that is known already: the chat has no other run
          now = { ...now, run_id: f.run_id, after_seq: f.seq };
        } catch (err) {
          done({ reason: err instanceof Malformed ? "malformed" : "interrupted" });
        }
      };
      calls.onmessage = ({ data: call }: MessageEvent<Call>) => { if ("led" in call) join(call.led); };
      signal.addEventListener("abort", stop);
      if (signal.aborted) return stop();
      // Held for as long as this attempt lives, so that the one who leads finds out about a tab that has crashed.
      void navigator.locks.request(`${name}:${id}`, { signal: gone.signal }, () => ended(gone.signal)).catch(() => {});
      const stand = candidate(name, id, requests, gone.signal);
      void stand();
      join("");
    });
  };
}

/** Returns a function with which a tab stands for leading, until gone ends: in its turn, or by taking the lock from whoever has it. */
function candidate(name: string, id: string, requests: Requests, gone: AbortSignal): (steal?: boolean) => Promise<void> {
  let standing = new AbortController();
  gone.addEventListener("abort", () => standing.abort());
  return async function stand(steal = false) {
    standing.abort();
    const own = (standing = new AbortController());
    let led = false;
    await navigator.locks.request(`${name}:lead`, steal ? { steal } : { signal: own.signal }, () => {
      if (own.signal.aborted) return;
      led = true;
      return lead(name, id, requests, own.signal);
    }).catch(() => own.abort(taken));
    if (led && own === standing && !gone.aborted) void stand(); // another one has taken it, and may be gone one day
  };
}
