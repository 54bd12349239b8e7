// The words of this package: what a connection is configured with, what it says of itself, and what
// it answers. The wire is described in relay/PROTOCOL.md.

/** One AG-UI event, as JSON.parse gives it. Unknown types and fields are passed on. */
export interface Event {
  readonly type: string;
  readonly [field: string]: unknown;
}

/**
 * What a connection is doing.
 *
 * - `idle`: there is nothing to watch. Where it follows, it waits for the chat's next run.
 * - `connecting`: the first attempt for this chat is under way.
 * - `synchronizing`: attached; what has happened so far is arriving.
 * - `live`: events are shown as they come.
 * - `recovering`: the stream broke; what was received is kept, and another attempt follows.
 * - `ended`: the run is over, as `end` says.
 * - `failed`: it gave up, as `reason` says. What was received is kept; `retry` tries again.
 */
export type Status = "idle" | "connecting" | "synchronizing" | "live" | "recovering" | "ended" | "failed";

/**
 * Why an attach found nothing, or a connection gave up: codes, for an application's own words.
 *
 * - `no_run`: the chat has no run to watch (204): show its history
 * - `gone`: the run broke off and is not kept any more (204 in mid-run): reload the history
 * - `unauthenticated` (401, also with a fresh token), `forbidden` (403), `not_found` (404)
 * - `refused`: another status by which a repetition is not going to help
 * - `network`: no answer; `timeout`: no answer, or silence, for too long
 * - `empty`: a 200 without a frame
 * - `unavailable`: 5xx; `too_many`: 429, or 503 for want of room; `switched_off`: by an operator
 * - `malformed`: a frame that breaks the contract; `too_large`: one of more than `maxMessage` bytes
 * - `interrupted`: streams that end without the run's end, again and again
 */
export type Reason =
  | "no_run" | "gone" | "unauthenticated" | "forbidden" | "not_found" | "refused" | "network" | "timeout" | "empty"
  | "unavailable" | "too_many" | "switched_off" | "malformed" | "too_large" | "interrupted";

/** How a run ended. Only with `persisted` is its answer saved. */
export interface End {
  readonly persisted: boolean;
  readonly superseded: boolean;
  /** done, error, stopped, superseded, abandoned, save_failed or skipped */
  readonly reason: string;
  readonly nextRunId?: string;
}

/** What a connection holds. A new object for each change, so that it may be compared by identity. */
export interface State {
  readonly chatId: string | null;
  readonly status: Status;
  /** The run that is shown, null before there is any. */
  readonly runId: string | null;
  /** The last seq applied, 0 before the first. */
  readonly seq: number;
  /**
   * What reduces to the run's state up to `seq`. The same array grows in place while events come, and is
   * another one after a reset.
   */
  readonly events: readonly Event[];
  /** Set once the run is over, and by nothing else. */
  readonly end: End | null;
  /** Why it is `failed`, or why there is nothing to watch; null otherwise. */
  readonly reason: Reason | null;
}

/** What a listener is told happened. `state` is what it has come to. What a listener throws is reported as an error that nobody caught, and breaks nothing. */
export type Change =
  | { readonly type: "reset"; readonly events: readonly Event[] } // replaces all that was held: a snapshot, another run, another chat
  | { readonly type: "event"; readonly event: Event; readonly seq: number }
  | { readonly type: "end"; readonly end: End }
  | { readonly type: "status" };

export type Listener = (state: State, change: Change) => void;

/** What an attempt to attach came to. `attached` once the first frame has been applied. */
export type Attach = { readonly attached: true } | { readonly attached: false; readonly reason: Reason };

export interface OpenOptions {
  /** The run to show, for a chat that may have a newer one, or whose run waits behind others. */
  readonly runId?: string;
  /** With `runId`: the last seq that the application has. Its events are not in `events` then. Of no account for the chat that is open. */
  readonly afterSeq?: number;
  /** Whether to stay and show the chat's next runs as they begin. Default true. */
  readonly follow?: boolean;
}

export type Token = string | null | undefined;

export interface Options {
  /** Where the relay is: an absolute URL or a path, without a slash at the end. Default "": this page's origin. */
  readonly url?: string;
  /** The bearer token. It is asked before the first request, and once more for a 401; calls never overlap. */
  readonly token?: Token | ((expired: boolean) => Token | Promise<Token>);
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether requests carry cookies, as of fetch. Default "same-origin". */
  readonly credentials?: RequestCredentials;
  readonly fetch?: typeof fetch;
  /** How many attempts in a row may bring nothing before it gives up. Default 5. */
  readonly attempts?: number;
  /** The first wait between attempts and the longest one, in milliseconds. Default 500 and 15,000. */
  readonly backoff?: { readonly first?: number; readonly max?: number };
  /** How long an answer may take, on top of the wait asked for, in milliseconds. Default 15,000. */
  readonly answerTimeout?: number;
  /** How long a stream may be silent, in milliseconds; relays send a comment every 15 s. Default 45,000. */
  readonly idleTimeout?: number;
  /** The largest frame, in characters. Default 64 Mi. */
  readonly maxMessage?: number;
  /** Where to keep what was received, so that a reload shows it at once, e.g. sessionStorage. It is shown before anybody is asked whose it is:
   * clear it when another user signs in. Default null: nowhere. */
  readonly seed?: Pick<Storage, "getItem" | "setItem" | "removeItem"> | null;
  /** Whether tabs of this origin tell each other of new runs and share a stream when connections are scarce. Default true. */
  readonly tabs?: boolean;
  /** Called when this or another tab sent something, or saw a run begin or end: reload the list of chats. */
  readonly onChats?: (chatId: string) => void;
  /** What to count; see Metric. */
  readonly onMetric?: (metric: Metric) => void;
}

/** What a team can count. `ms` are milliseconds since the attempt, or the break, began. */
export type Metric =
  | { readonly type: "attach" | "resume"; readonly outcome: "attached" | Reason; readonly attempts: number; readonly ms: number }
  | { readonly type: "reset"; readonly events: number } // a snapshot replaced what was held of the same run
  | { readonly type: "give_up"; readonly reason: Reason; readonly attempts: number; readonly ms: number }
  | { readonly type: "end"; readonly reason: string; readonly persisted: boolean };

/** A message to a chat: a text, or an AG-UI RunAgentInput. */
export type Input = string | { readonly [field: string]: unknown };

export interface SendOptions {
  readonly kind?: string;
  readonly onActive?: "reject" | "queue" | "supersede";
  /** At most 128 bytes; made here unless given. The same one again gives the first one's run. */
  readonly clientToken?: string;
}

/** What was sent. `acknowledged` is false where the answer was lost and the run was found by observing. */
export interface Sent {
  readonly runId: string;
  readonly turnId: string | null;
  readonly clientToken: string;
  readonly acknowledged: boolean;
}

/** A saved turn, as of GET /chat/{chat_id}/history. */
export interface Turn {
  readonly run_id: string;
  readonly kind: string;
  readonly input: { readonly [field: string]: unknown } | null;
  readonly events: readonly Event[];
  readonly started_at: string;
  readonly ended_at: string;
  readonly reason: string;
}

/** What went wrong with a request that is not a stream. */
export class RejoinError extends Error {
  override readonly name = "RejoinError";
  constructor(
    /** The problem's code as of PROTOCOL.md, or `network`, `timeout`, or `unacknowledged`: whether a send arrived is not known. */
    readonly code: string,
    message: string,
    /** 0 without an answer. */
    readonly status = 0,
    /** The whole problem, with what belongs to it: run_id, outcome, reason … */
    readonly problem: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
  }
}
