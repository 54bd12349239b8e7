// One chat being watched, over as many attempts as that takes: when to try, how often, and when to give up.
import { delay, maxAsked } from "./backoff.js";
import type { EndFrame, Frame } from "./frames.js";
import { position } from "./position.js";
import type { Outcome, Source } from "./stream.js";
import type { Attach, OpenOptions, Options, Reason } from "./types.js";

/** How long a request is willing to wait for a chat's next run, in milliseconds. */
const patience = 30_000;
/** An attempt that lived this long, in milliseconds, was good though it brought nothing new: relays close streams by age, and runs are silent. */
const steadyAfter = 30_000;
/** A relay that waits for less than it is asked to, in milliseconds, may be asked again at once from here on. */
const leastWait = 1_000;
/** An attempt that is as young as this, in milliseconds, is not repeated at once because the page was shown again: only when it has brought nothing since by then. */
const young = 1_000;

/** Who is told what happens. */
export interface Host {
  /** An attempt's first frame: `again` after a break, with the attempts since. `ms` since the attempt or the break. */
  attached(again: number, ms: number): void;
  frame(f: Exclude<Frame, EndFrame>): void;
  over(f: EndFrame): void;
  /** There is nothing to watch now. */
  nothing(reason: Reason, ms: number): void;
  /** An attempt has failed; it was the `first` for this chat. */
  broke(reason: Reason, first: boolean, ms: number): void;
  gaveUp(reason: Reason, attempts: number, ms: number): void;
}

export interface Session {
  /** Makes an attempt now, unless one is young, and resolves with what came of it. */
  attach(): Promise<Attach>;
  /** Shows a run that is known to have been made, unless one is shown: its end, or its supersession, leads there. */
  expect(runId: string): void;
  /** The page was shown again, or the network is back: what is old is not to be trusted. */
  hurry(): void;
  /** Lets go of the connection, for a page that is put away; hurry comes back. */
  suspend(): void;
  close(): void;
}

/** Watches a chat once attach is called. `from` may name a run, or a cursor. */
export function session(chatId: string, from: OpenOptions, source: Source, options: Options, host: Host): Session {
  const { follow = true } = from;
  const { attempts: most = 5, backoff: { first: firstWait = 500, max: longestWait = 15_000 } = {} } = options;
  const wait = (n: number) => delay(n, firstWait, longestWait);
  const at = position();
  let named = from.runId; // the run to ask for while there is no cursor
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
  let fruitless = 0; // attempts in a row that brought nothing
  let early = 0; // 204s in a row that came before their time
  let brokenAt = 0; // since when it is broken; 0 where it is not
  let tried = 0; // attempts since then
  if (named !== undefined && from.afterSeq !== undefined) at.start(named, from.afterSeq);

  const settle = (a: Attach) => {
    const all = callers;
    callers = [];
    for (const call of all) call(a);
  };

  /** Nothing more is done until attach is called, unless there is more to do. */
  const goOn = (more: boolean) => {
    resting = !more;
    if (resting) notBefore = Infinity;
  };

  const over = (end: EndFrame) => {
    const { superseded } = end;
    at.leave(superseded);
    fruitless = 0;
    ended = superseded ? undefined : end.run_id;
    named = (superseded && end.next_run_id) || undefined;
    waiting = !superseded;
    host.over(end);
    goOn(superseded || follow);
  };

  const nothing = (willing: number, took: number) => {
    if (!willing) {
      const reason: Reason = at.cursor() ? "gone" : "no_run";
      at.leave(false);
      named = undefined;
      brokenAt = 0;
      host.nothing(reason, took);
      settle({ attached: false, reason });
    }
    fresh = false;
    fruitless = 0;
    waiting = true;
    // A relay, or a cache before it, that does not wait must not be asked in a circle.
    early = willing && took < leastWait ? early + 1 : 0;
    if (early) notBefore = Date.now() + 1000 + wait(early);
    goOn(follow);
  };

  const broke = (reason: Reason, { final, after = 0 }: Outcome, good: boolean, began: number) => {
    const now = Date.now();
    const first = fresh;
    fresh = false;
    fruitless = good ? 0 : fruitless + 1;
    if (!brokenAt) {
      brokenAt = good ? now : began;
      tried = 0;
    }
    if (first || !final) host.broke(reason, first, now - began);
    settle({ attached: false, reason });
    if (first && !final && !follow) return goOn(false); // an attempt was all that was asked for
    if (!final && fruitless < most) {
      notBefore = now + Math.min(after, maxAsked) + wait(fruitless);
    } else if (!closed) {
      notBefore = Infinity; // until the page is shown again, or attach is called
      const since = brokenAt;
      brokenAt = 0;
      host.gaveUp(reason, fruitless, now - since);
    }
  };

  const attached = (began: number) => {
    const now = Date.now();
    host.attached(brokenAt && tried, now - (brokenAt || began));
    brokenAt = 0;
    fresh = waiting = false;
    named = undefined;
    settle({ attached: true });
  };

  /** Makes one attempt and decides what follows. */
  const step = async () => {
    const began = (dialled = Date.now());
    const { signal } = (attempt = new AbortController());
    const cursor = at.cursor();
    const willing = waiting && !callers.length ? patience : 0;
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
      heard: () => { heard = Date.now(); },
      frame: (f) => {
        if (signal.aborted) return false; // late: another attempt has taken over
        if (!at.cursor() && f.run_id === ended) return (known = true);
        const verdict = at.apply(f);
        if (first) attached(began);
        first = false;
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
    else if (outcome.nothing || (first && known)) nothing(willing, Date.now() - began);
    else broke(outcome.reason ?? "interrupted", outcome, good || (!first && heard - began >= steadyAfter), began);
  };

  const run = async () => {
    for (running = true; !closed; ) {
      const rest = notBefore - Date.now();
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
    if (notBefore === Infinity) fruitless = 0;
    notBefore = 0;
    if (!running) void run();
    else if (attempt) {
      const now = Date.now();
      const rest = dialled + young - now;
      clearTimeout(doubt);
      if (rest > 0) {
        const own = attempt;
        doubt = setTimeout(() => { if (own === attempt && heard <= now) hurry(); }, rest + 1);
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
    if (waiting) dialled = 0; // a wait would answer too late
    hurry();
  };

  return {
    hurry,
    attach: () => new Promise((resolve) => {
      callers.push(resolve);
      if (closed) settle({ attached: false, reason: "interrupted" });
      else atOnce();
    }),
    expect(runId) {
      if (closed || at.cursor()) return;
      named = runId;
      dialled = 0;
      waiting = false;
      atOnce();
    },
    suspend() {
      clearTimeout(doubt);
      redial = true;
      notBefore = Infinity;
      attempt?.abort();
      wakeUp?.();
    },
    close() {
      closed = true;
      clearTimeout(doubt);
      attempt?.abort();
      wakeUp?.();
      settle({ attached: false, reason: "interrupted" });
    },
  };
}
