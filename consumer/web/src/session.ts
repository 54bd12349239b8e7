// One chat being watched, over as many attempts as that takes: when to try, how often, and when to give up.
import { burst, delay, maxAsked, patience, steadyAfter, young } from "./backoff.js";
import type { EndFrame, Frame } from "./frames.js";
import type { Host } from "./host.js";
import { position } from "./position.js";
import type { Outcome, Source } from "./stream.js";
import type { Attach, OpenOptions, Options, Reason } from "./types.js";

const now = () => performance.now(); // no clock that somebody may set

export interface Session {
  /** Makes an attempt now, unless one is young, and resolves with what came of it. */
  attach(): Promise<Attach>;
  /** Shows a run that is known to have been made with the next attach, or, where one is shown, after its end. */
  expect(runId: string): void;
  /** The page was shown again, or the network is back: what is old is not to be trusted. */
  hurry(): void;
  /** Lets go of the connection, for a page that is put away; hurry comes back. */
  suspend(): void;
  close(): void;
}

/** What OpenOptions say, where nothing may be said in so many words. */
type From = { readonly [name in keyof OpenOptions]: OpenOptions[name] | undefined };

/** Watches a chat once attach is called. `from` may name a run, or a cursor. */
export function session(chatId: string, from: From, source: Source, options: Options, host: Host): Session {
  const { follow = true } = from;
  const { attempts: most = 5, backoff: { first: firstWait = 500, max: longestWait = 15_000 } = {} } = options;
  const wait = (n: number) => delay(n, firstWait, longestWait);
  const at = position();
  let named = from.runId; // the run to ask for once there is no cursor
  let ended: string | undefined; // the run whose end is known
  let waiting = false; // for a run, rather than coming back to one
  let fresh = true; // nothing is known of this chat yet
  let resting = true; // nothing is to be done unless attach is called
  let running = false;
  let closed = false;
  let redial = false; // the attempt was given up for another one
  let attempt: AbortController | null = null;
  let wakeUp: (() => void) | null = null; // cuts a pause short
  let callers: ((a: Attach) => void)[] = [];
  let dialled = 0; // when the last attempt began
  let heard = 0; // when it last brought anything
  let doubt: ReturnType<typeof setTimeout> | undefined; // until an attempt that was too young has to have brought something
  let notBefore = 0; // when the next one may
  let due = 0; // when it would be, had they all been evenly spaced
  let lost = false; // what came meanwhile may be over: no run is waited for before it is asked for
  let fruitless = 0; // attempts in a row that brought nothing
  let early = 0; // 204s in a row that came before their time
  let brokenAt = 0; // since when it is broken; 0 where it is not
  let tried = 0; // attempts since then
  if (named !== undefined && from.afterSeq !== undefined) {
    at.start(named, from.afterSeq);
    named = undefined;
  }

  const settle = (reason?: Reason) => {
    const all = callers;
    callers = [];
    for (const call of all) call(reason ? { attached: false, reason } : { attached: true });
  };

  /** Nothing more is done until attach is called, unless there is more to do. */
  const goOn = (more: boolean) => {
    resting = !more;
    if (resting) notBefore = Infinity;
  };

  const over = (end: EndFrame) => {
    const { superseded, run_id } = end;
    at.leave(superseded);
    fruitless = 0;
    ended = superseded ? undefined : run_id;
    if (named === run_id) named = undefined;
    named = (superseded && end.next_run_id) || named;
    waiting = !superseded && !named;
    goOn(!waiting || follow);
    host.over(end);
  };

  const nothing = (willing: number, took: number) => {
    if (!willing) {
      const reason: Reason = at.cursor() ? "gone" : "no_run";
      if (!at.cursor()) named = undefined;
      at.leave(false);
      host.nothing(reason, took);
      settle(reason);
    }
    if (!lost) fruitless = 0;
    fresh = lost = false;
    brokenAt = 0;
    waiting = !named;
    // A relay, or a cache before it, that does not wait must not be asked in a circle.
    early = willing && took < young ? early + 1 : 0;
    if (early) notBefore = now() + young + wait(early);
    goOn(!waiting || follow);
  };

  const broke = (reason: Reason, { final, after = 0 }: Outcome, good: boolean, began: number) => {
    const failed = now();
    const first = fresh;
    fresh = false;
    lost = true;
    fruitless = good ? 0 : fruitless + 1;
    if (!brokenAt) {
      brokenAt = good ? failed : began;
      tried = 0;
    }
    if (first || !final) host.broke(reason, first, failed - began);
    settle(reason);
    if (first && !final && !follow) return goOn(false); // an attempt was all that was asked for
    if (!final && fruitless < most) {
      notBefore = failed + Math.min(after, maxAsked) + wait(fruitless);
    } else if (!closed) {
      notBefore = Infinity; // until the page is shown again, or attach is called
      host.gaveUp(reason, fruitless, failed - brokenAt);
      brokenAt = 0;
    }
  };

  const attached = (began: number) => {
    host.attached(brokenAt && tried, now() - (brokenAt || began));
    brokenAt = 0;
    fresh = waiting = lost = false;
    settle();
  };

  /** Makes one attempt and decides what follows. */
  const step = async () => {
    const began = (dialled = now());
    due = Math.max(due, began) + 2 * firstWait;
    const { signal } = (attempt = new AbortController());
    const cursor = at.cursor();
    const willing = waiting && !callers.length && !lost ? patience : 0;
    let first = true; // no frame has come yet
    let known = false; // but some of the run whose end is known
    let good = false;
    heard = began;
    let end: EndFrame | undefined;
    redial = false;
    tried++;
    const outcome = await source({
      chat_id: chatId, wait_ms: willing, run_id: cursor?.runId ?? named, after_seq: cursor?.seq,
      ended_run_id: ended,
    }, {
      heard: () => { heard = now(); },
      frame: (f) => {
        if (signal.aborted) return false; // late: another attempt has taken over
        if (!at.cursor() && f.run_id === ended) return (known = true);
        const verdict = at.apply(f);
        if (first) {
          if (!cursor) named = undefined;
          attached(began);
          first = false;
        }
        if (signal.aborted) return false; // whoever was told has left
        if (verdict === "further") {
          good = true;
          fruitless = 0;
        }
        if (f.type === "STREAM_END") end = f;
        else if (verdict !== "old") host.frame(f as Exclude<Frame, EndFrame>);
        return !end && !signal.aborted;
      },
    }, signal);
    attempt = null;
    if (closed) return;
    if (end) over(end);
    else if (redial) return;
    else if (outcome.nothing || (first && known)) nothing(willing, now() - began);
    else broke(outcome.reason ?? "interrupted", outcome, good || (!first && heard - began >= steadyAfter), began);
  };

  const run = async () => {
    for (running = true; !closed; ) {
      const rest = Math.max(notBefore, due - burst * firstWait) - now();
      if (rest > 0) {
        await new Promise<void>((resolve) => {
          const timer = rest < Infinity ? setTimeout(resolve, rest) : undefined;
          wakeUp = () => { clearTimeout(timer); resolve(); };
        });
        wakeUp = null;
      } else {
        await step();
      }
    }
  };

  const hurry = () => {
    if (closed || resting) return;
    lost = true;
    if (notBefore === Infinity) fruitless = 0;
    notBefore = 0;
    if (!running) void run();
    else if (attempt) {
      const since = now();
      const rest = dialled + young - since;
      clearTimeout(doubt);
      if (rest > 0) {
        const own = attempt;
        doubt = setTimeout(() => { if (own === attempt && heard <= since) hurry(); }, rest + 1);
      } else {
        redial = true;
        attempt.abort();
      }
    }
    wakeUp?.();
  };

  /** What is waited for, or in the way, is given up. */
  const atOnce = () => {
    resting = false;
    fruitless = 0;
    if (waiting) dialled = -young; // a wait would answer too late
    hurry();
  };

  /** Ends the attempt or the pause that is under way. */
  const cut = () => {
    clearTimeout(doubt);
    attempt?.abort();
    wakeUp?.();
  };

  return {
    hurry,
    attach: () => new Promise((resolve) => {
      callers.push(resolve);
      if (closed) settle("interrupted");
      else atOnce();
    }),
    expect(runId) {
      named = runId;
      if (at.cursor()) return;
      dialled = -young;
      waiting = false;
    },
    suspend() {
      redial = true;
      notBefore = Infinity;
      cut();
    },
    close() {
      closed = true;
      cut();
      settle("interrupted");
    },
  };
}
