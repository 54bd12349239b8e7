import { hostOf } from "./host.js";
import { requestsOf } from "./requests.js";
import { load, save } from "./seed.js";
import { session, type Session } from "./session.js";
import { shared } from "./shared.js";
import { direct } from "./stream.js";
import { tabsOf } from "./tabs.js";
import { tell } from "./tell.js";
import { type Attach, type Change, type Input, type Listener, type OpenOptions, type Options, RejoinError, type SendOptions, type Sent, type State, type Turn } from "./types.js";
import { watchPage } from "./wake.js";

/** One connection, which can be pointed from chat to chat. */
export interface Connection {
  readonly options: Options;
  /** What it holds now. */
  readonly state: State;
  /** Calls listener for each change, in order, until the function returned is called. */
  subscribe(listener: Listener): () => void;
  /**
   * Points the connection at a chat, and attaches to its run. For another chat, what was held is put away (a reset);
   * for the same one nothing is touched unless the attempt succeeds. Where it finds nothing the application shows
   * the history, and the connection follows the chat in the background, unless told not to. A later open of another chat,
   * or a close, makes this one's promise resolve as `interrupted`.
   */
  open(chatId: string, options?: OpenOptions): Promise<Attach>;
  /** Attaches again at once: after `failed`, or when the application knows better. At most one attempt is in flight. */
  retry(): Promise<Attach>;
  /** Leaves. No listener is called afterwards; the run goes on. It may be opened again. */
  close(): void;
  /**
   * Sends a message to the chat that is open and shows its run. It is sent once, never repeated: where the answer is lost, the run
   * is looked for by watching, and where none shows, a RejoinError `unacknowledged` says so. A send with the same clientToken is then safe.
   */
  send(input: Input, options?: SendOptions): Promise<Sent>;
  /** Sends a message to the run that is under way, or starts one. */
  steer(input: Input, options?: Omit<SendOptions, "onActive">): Promise<Sent>;
  /** Stops the run that is shown, or was just sent for, and no other. For one that is over it does nothing. */
  stop(reason?: string): Promise<void>;
  /**
   * Answers a question of the run that is shown. It returns the id of the run that goes on, where the answer starts one. Where
   * another answer has won it throws a RejoinError `already_answered`, whose problem has the `outcome`.
   */
  answer(requestId: string, outcome: Readonly<Record<string, unknown>>): Promise<string | null>;
  /** The saved turns of the chat that is open, the newest last: 20 unless limit says otherwise. */
  history(limit?: number): Promise<readonly Turn[]>;
}

const nothing: State = { chatId: null, status: "idle", runId: null, seq: 0, events: [], end: null, reason: null };

/** As random as crypto.randomUUID, which only secure contexts have. */
const random = () => crypto.getRandomValues(new Uint32Array(4)).join("-");

const missing = (code: string): never => { throw new RejoinError(code, "open a chat first"); };

/** Makes a connection. It asks nothing before it is opened. */
export function connect(options: Options = {}): Connection {
  const requests = requestsOf(options);
  const tabs = tabsOf(options);
  const source = shared(requests, direct(requests));
  const listeners = new Set<{ readonly call: Listener }>();
  let state = nothing;
  let watched: Session | null = null;
  let partial: unknown; // events that are not all of their run's: the application has the others
  let made: string | null = null; // the run that the last message or answer led to
  let unwatch: (() => void) | null = null;

  const set = (patch: Partial<State>, change: Change = { type: "status" }) => {
    const own = watched;
    state = { ...state, ...patch };
    for (const l of [...listeners]) {
      if (watched === own && listeners.has(l)) tell(l.call, state, change); // unless one of them has opened another chat, closed, or let go of another
    }
  };

  /** Keeps what was received where a reload finds it. */
  const keep = () => {
    const { chatId, runId, seq, events, end } = state;
    if (runId !== null && !end && events.length && events !== partial) save(options, chatId!, { runId, seq, events });
  };

  const leave = () => {
    keep();
    watched?.close();
    watched = null;
  };

  const subscribe = (listener: Listener) => {
    const own = { call: listener }; // one function may subscribe twice
    listeners.add(own);
    return () => { listeners.delete(own); };
  };

  const retry = async (): Promise<Attach> => {
    const { status, runId, end } = state;
    const own = watched;
    if (!own) return { attached: false, reason: "no_run" };
    if (status === "live" || status === "synchronizing") return { attached: true };
    if (status === "failed") set({ status: runId === null || end ? "connecting" : "recovering", reason: null });
    return own.attach();
  };

  const chat = () => state.chatId ?? missing("no_chat");
  /** The run that is shown or, before it is, the one that was sent for. */
  const shown = (runId = state.runId) => ({ chat_id: chat(), run_id: runId ?? made ?? missing("no_run") });
  const expect = (chatId: string, runId: string) => {
    if (state.chatId !== chatId) return;
    made = runId;
    if (state.end && state.runId === runId) return; // its end was faster than the answer
    watched!.expect(runId);
    void retry();
  };

  /** The run that appears in the chat within the time of an answer, other than the one shown before. */
  const observe = (chatId: string, before: string | null) => new Promise<string | null>((resolve) => {
    const look = () => {
      const { runId } = state;
      if (state.chatId !== chatId) done(null);
      else if (runId !== before) done(runId);
    };
    const timer = setTimeout(() => done(null), options.answerTimeout ?? 15_000);
    const stop = subscribe(look);
    const done = (runId: string | null) => {
      clearTimeout(timer);
      stop();
      resolve(runId);
    };
    look();
    void watched?.attach();
  });

  const send = async (path: string, input: Input, { kind, onActive, clientToken = random() }: SendOptions): Promise<Sent> => {
    const chatId = chat();
    const { runId: before, reason } = state;
    let sent: { run_id?: unknown; turn_id?: unknown } = {};
    let runId: string | null;
    try {
      sent = await requests.json(path, {
        chat_id: chatId, input: typeof input === "string" ? { text: input } : input, kind, on_active: onActive, client_token: clientToken,
      });
      runId = String(sent.run_id);
      expect(chatId, runId);
    } catch (err) {
      const { status, code, message } = err as RejoinError;
      if (code === "unauthenticated" || (status && status !== 502 && status !== 504)) throw err; // it was refused
      runId = before === null && reason !== "no_run" ? null : await observe(chatId, before); // a run that appears where nobody knows what there was is not this one's
      if (runId === null) throw new RejoinError("unacknowledged", `perhaps not sent: ${message}`, status, { client_token: clientToken });
    }
    tabs.changed(chatId);
    return { runId, turnId: (sent.turn_id as string | null | undefined) ?? null, clientToken, acknowledged: "run_id" in sent };
  };

  return {
    options,
    get state() { return state; },
    subscribe,
    retry,
    open(chatId, how = {}) {
      const { runId } = how;
      const same = state.chatId === chatId;
      if (same && (runId === undefined || runId === state.runId)) return retry();
      leave();
      const seed = runId === undefined ? load(options, chatId) : null;
      const held = seed?.runId ?? runId;
      const seq = seed?.seq ?? (same || held === undefined ? undefined : how.afterSeq); // what is shown of this chat stays until there is all of the run
      const own: Session = (watched = session(chatId, { ...how, runId: held, afterSeq: seq }, source, options, hostOf(options, tabs.changed, () => state, (patch, change) => {
        if (watched === own) set(patch, change);
      })));
      tabs.open();
      unwatch ??= watchPage(() => { tabs.open(); watched?.hurry(); }, () => { keep(); watched?.suspend(); tabs.close(); });
      if (!same) {
        made = null;
        const events = seed?.events ?? [];
        partial = !seed && events;
        set({ ...nothing, chatId, status: "connecting", runId: seq === undefined ? null : held!, seq: seq ?? 0, events }, { type: "reset", events });
      } else if (!state.end) {
        set({ status: "connecting", reason: null });
      }
      return own.attach();
    },
    close() {
      leave();
      state = nothing;
      unwatch?.();
      unwatch = null;
      tabs.close();
    },
    send: (input, how = {}) => send("/chat/send", input, how),
    steer: (input, how = {}) => send("/chat/steer-send", input, how),
    async stop(reason) {
      await requests.json("/chat/stop", { ...shown((state.end && made) || state.runId), reason }).catch((err: unknown) => {
        if ((err as RejoinError).code !== "stale_run") throw err;
      });
    },
    async answer(requestId, outcome) {
      const own = shown();
      const { run_id: next } = await requests.json("/chat/answer", { ...own, request_id: requestId, outcome });
      if (typeof next !== "string") return null;
      expect(own.chat_id, next);
      return next;
    },
    async history(limit = 20) {
      const { turns } = await requests.json(`/chat/${encodeURIComponent(chat())}/history?limit=${limit}`);
      return (turns as Turn[] | null) ?? [];
    },
  };
}
