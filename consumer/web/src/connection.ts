import { hostOf } from "./host.js";
import { type Requests, requestsOf } from "./requests.js";
import { load, save } from "./seed.js";
import { session, type Session } from "./session.js";
import { shared } from "./shared.js";
import { direct, type Source } from "./stream.js";
import { type Tabs, tabsOf } from "./tabs.js";
import { type Attach, type Change, type Input, type Listener, type OpenOptions, type Options, RejoinError, type SendOptions, type Sent, type State, type Turn } from "./types.js";
import { watchPage } from "./wake.js";

const nothing: State = { chatId: null, status: "idle", runId: null, seq: 0, events: [], end: null, reason: null };

/** As random as crypto.randomUUID, which only secure contexts have. */
const random = () => crypto.getRandomValues(new Uint32Array(4)).join("-");

const missing = (code: string): never => { throw new RejoinError(code, "open a chat first"); };

/** One connection, which can be pointed from chat to chat. */
export class Connection {
  #state = nothing;
  #session: Session | null = null;
  #unwatch: (() => void) | null = null;
  readonly #listeners = new Set<{ readonly call: Listener }>();
  readonly #requests: Requests;
  readonly #tabs: Tabs;
  readonly #source: Source;

  constructor(readonly options: Options = {}) {
    this.#requests = requestsOf(options);
    this.#tabs = tabsOf(options);
    this.#source = shared(this.#requests, direct(this.#requests));
  }

  /** What it holds now. */
  get state(): State { return this.#state; }

  /** Calls listener for each change, in order, until the function returned is called. */
  subscribe(listener: Listener): () => void {
    const own = { call: listener }; // one function may subscribe twice
    this.#listeners.add(own);
    return () => { this.#listeners.delete(own); };
  }

  /**
   * Points the connection at a chat, and attaches to its run. For another chat, what was held is put away (a reset);
   * for the same one nothing is touched unless the attempt succeeds. Where it finds nothing the application shows
   * the history, and the connection follows the chat in the background, unless told not to. A later open of another chat,
   * or a close, makes this one's promise resolve as `interrupted`.
   */
  open(chatId: string, options: OpenOptions = {}): Promise<Attach> {
    const { runId } = options;
    const state = this.#state;
    const same = state.chatId === chatId;
    if (this.#session && same && (runId === undefined || runId === state.runId)) return this.retry();
    this.#leave();
    const seed = runId === undefined && load(this.options, chatId);
    if (seed) options = { ...options, runId: seed.runId, afterSeq: seed.seq };
    const own: Session = session(chatId, options, this.#source, this.options, hostOf(this.options, () => this.#state, this.#set));
    this.#session = own;
    this.#tabs.open();
    this.#unwatch ??= watchPage(() => { this.#tabs.open(); this.#session?.hurry(); }, () => { this.#keep(); this.#session?.suspend(); this.#tabs.close(); });
    if (!same) {
      const { runId: held = null, afterSeq: seq } = options;
      const events = seed ? seed.events : [];
      this.#set({ ...nothing, chatId, status: "connecting", runId: seq === undefined ? null : held, seq: seq ?? 0, events }, { type: "reset", events });
    }
    return own.attach();
  }

  /** Attaches again at once: after `failed`, or when the application knows better. At most one attempt is in flight. */
  async retry(): Promise<Attach> {
    const { status, runId, end } = this.#state;
    if (!this.#session) return { attached: false, reason: "no_run" };
    if (status === "live" || status === "synchronizing") return { attached: true };
    if (status === "failed") this.#set({ status: runId === null || end ? "connecting" : "recovering", reason: null });
    return this.#session.attach();
  }

  /** Leaves. No listener is called afterwards; the run goes on. It may be opened again. */
  close(): void {
    this.#leave();
    this.#state = nothing;
    this.#unwatch?.();
    this.#unwatch = null;
    this.#tabs.close();
  }

  /**
   * Sends a message to the chat that is open and shows its run. It is sent once, never repeated: where the answer is lost, the run
   * is looked for by watching, and where none shows, a RejoinError `unacknowledged` says so. A send with the same clientToken is then safe.
   */
  send(input: Input, options: SendOptions = {}): Promise<Sent> { return this.#send("/chat/send", input, options); }

  /** Sends a message to the run that is under way, or starts one. */
  steer(input: Input, options: Omit<SendOptions, "onActive"> = {}): Promise<Sent> { return this.#send("/chat/steer-send", input, options); }

  /** Stops the run that is shown, and no other. For one that is over it does nothing. */
  async stop(reason?: string): Promise<void> {
    await this.#requests.json("POST", "/chat/stop", { ...this.#shown(), reason }).catch((err: unknown) => {
      if ((err as RejoinError).code !== "stale_run") throw err;
    });
  }

  /**
   * Answers a question of the run that is shown. It returns the id of the run that goes on, where the answer starts one. Where
   * another answer has won it throws a RejoinError `already_answered`, whose problem has the `outcome`.
   */
  async answer(requestId: string, outcome: Readonly<Record<string, unknown>>): Promise<string | null> {
    const shown = this.#shown();
    const { run_id: next } = await this.#requests.json("POST", "/chat/answer", { ...shown, request_id: requestId, outcome });
    if (typeof next !== "string") return null;
    this.#expect(shown.chat_id, next);
    return next;
  }

  /** The saved turns of the chat that is open, the newest last. */
  async history(limit = 20): Promise<readonly Turn[]> {
    const { turns } = await this.#requests.json("GET", `/chat/${encodeURIComponent(this.#chat())}/history?limit=${limit}`);
    return Array.isArray(turns) ? (turns as Turn[]) : [];
  }

  async #send(path: string, input: Input, { kind, onActive, clientToken = random() }: SendOptions): Promise<Sent> {
    const chatId = this.#chat();
    const before = this.#state.runId;
    let sent: { run_id?: unknown; turn_id?: unknown } = {};
    let runId: string | null;
    try {
      sent = await this.#requests.json("POST", path, {
        chat_id: chatId, input: typeof input === "string" ? { text: input } : input, kind, on_active: onActive, client_token: clientToken,
      });
      runId = String(sent.run_id);
      this.#expect(chatId, runId);
    } catch (err) {
      const { status, code, message } = err as RejoinError;
      if (code === "unauthenticated" || (status && status !== 502 && status !== 504)) throw err; // it was refused
      runId = await this.#observe(chatId, before);
      if (runId === null) throw new RejoinError("unacknowledged", `perhaps not sent: ${message}`, status, { client_token: clientToken });
    }
    this.#tabs.changed(chatId);
    return { runId, turnId: (sent.turn_id as string | null | undefined) ?? null, clientToken, acknowledged: "run_id" in sent };
  }

  #expect(chatId: string, runId: string): void {
    if (this.#state.chatId === chatId) this.#session?.expect(runId);
  }

  /** The run that appears in the chat within the time of an answer, other than the one shown before. */
  #observe(chatId: string, before: string | null): Promise<string | null> {
    return new Promise((resolve) => {
      const look = ({ chatId: now, runId }: State) => {
        if (now !== chatId) done(null);
        else if (runId !== null && runId !== before) done(runId);
      };
      const timer = setTimeout(() => done(null), this.options.answerTimeout ?? 15_000);
      const stop = this.subscribe(look);
      const done = (runId: string | null) => {
        clearTimeout(timer);
        stop();
        resolve(runId);
      };
      look(this.#state);
      void this.#session?.attach();
    });
  }

  #chat(): string { return this.#state.chatId ?? missing("no_chat"); }

  #shown() { return { chat_id: this.#chat(), run_id: this.#state.runId ?? missing("no_run") }; }

  readonly #set = (patch: Partial<State>, change: Change = { type: "status" }): void => {
    const own = this.#session;
    this.#state = { ...this.#state, ...patch };
    for (const { call } of [...this.#listeners]) {
      if (this.#session === own) call(this.#state, change); // unless one of them has opened another chat, or closed
    }
  };

  #leave(): void {
    this.#keep();
    this.#session?.close();
    this.#session = null;
  }

  /** Keeps what was received where a reload finds it. */
  #keep(): void {
    const { chatId, runId, seq, events, end } = this.#state;
    if (chatId !== null && runId !== null && !end && events.length) save(this.options, chatId, { runId, seq, events });
  }
}
