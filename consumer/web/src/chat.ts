// A chat as an application shows it: its history, and the run under way. runs.ts has the runs, shown.ts what is shown of them,
// and again.ts what is not, for it is there already.
import { type ChatView, empty } from "./chatview.js";
import { connect, type Connection } from "./connection.js";
import { type History, historyOf } from "./history.js";
import type { Question } from "./messages.js";
import { equal } from "./patch.js";
import { interrupt } from "./questions.js";
import { advance } from "./reducer.js";
import { merge, put, run, type Run, shownOf, stateBefore, withEvents, withInput } from "./runs.js";
import { shower } from "./shown.js";
import { type Attach, type Change, type End, type Input, type OpenOptions, type Options, type Reason, RejoinError, type SendOptions, type Sent, type State, type Status, type Turn } from "./types.js";
import { keyOf } from "./whole.js";

export * from "./messages.js";
export type { ChatMessage } from "./shown.js";
export type { ChatView } from "./chatview.js";

/** How many turns are loaded when a chat is opened, the most there are, and when one of its runs has ended. */
const allTurns = 100;
const newTurns = 20;

/** Loads a chat's history, watches its runs, and keeps what is shown free of doubles. */
export class Chat {
  readonly connection: Connection;
  readonly #listeners = new Set<() => void>();
  #view = empty(null);
  #stale = false; // the view is not that of now
  #told = true; // nobody is waiting to be told
  #show = shower();

  #chat: History | null = null; // another one for each chat that is opened, by which what comes late is known
  #follow: Pick<OpenOptions, "follow"> = {};
  #leave: (() => void) | null = null;
  #reason: Reason | null = null; // as told last
  #runs: readonly Run[] = [];
  #asking: readonly Question[] = []; // as shown last
  #answered = new WeakSet<Question>();
  #sends = 0;

  #reopened: string | null = null; // the run that was opened again for its questions

  /** Nothing happens before `open`. Tests may give a connection of their own. */
  constructor(options: Options = {}, connection: Connection = connect(options)) {
    this.connection = connection;
  }

  /** The same object as long as nothing changes, as are the messages and questions in it. */
  get view(): ChatView {
    if (this.#stale) this.#view = this.#look();
    this.#stale = false;
    return this.#view;
  }

  /** Calls listener after each change of the view, at most once a microtask. */
  subscribe(listener: () => void): () => void {
    const call = () => listener(); // one function may subscribe twice
    this.#listeners.add(call);
    return () => { this.#listeners.delete(call); };
  }

  /** Shows a chat: its history and its run, each as soon as it is there. Whatever of another chat comes later is dropped. */
  open(chatId: string, options: OpenOptions = {}): Promise<Attach> {
    if (this.#chat === null || this.view.chatId !== chatId) {
      this.#forget();
      this.#chat = historyOf(this.connection, () => this.#superseded(), (turns, gone) => this.#merge(turns, gone), () => {
        this.#reopen();
        this.#changed();
      });
      this.#view = empty(chatId); // until the connection says more
    }
    this.#follow = options.follow === undefined ? {} : { follow: options.follow };
    this.#reopened = options.runId ?? null;
    this.#leave ??= this.connection.subscribe((state, change) => this.#heard(state, change));
    const attached = this.connection.open(chatId, options);
    this.#chat.load(allTurns);
    this.#changed();
    return this.#settled(attached);
  }

  /** Shows nothing. Runs go on. */
  close(): void {
    if (this.#chat === null) return;
    this.#leave?.();
    this.#leave = null;
    this.connection.close();
    this.#forget();
    this.#view = empty(null);
    this.#changed();
  }

  /** Attaches again, and loads the history where that has failed. */
  retry(): Promise<Attach> {
    if (this.#chat?.error) this.#chat.load(allTurns);
    return this.#settled(this.connection.retry());
  }

  /** Sends a message. It is shown at once, and once only; one that fails is taken away again, and the error thrown. */
  send(input: Input, options: SendOptions = {}): Promise<Sent> {
    return this.#sending(input, options.kind ?? "send", () => this.connection.send(input, options));
  }

  /** Sends a message to the run that is under way, where it is shown at its place, or starts one. */
  async steer(input: Input): Promise<Sent> {
    const to = this.#shown();
    if (!this.view.busy || !to || typeof input !== "string") return this.#sending(input, "steer", () => this.connection.steer(input));
    const chat = this.#chat;
    const last = to.said.at(-1)?.message ?? shownOf(to).view.messages.at(-1);
    const one = { message: { kind: "user", id: `steer-${++this.#sends}-${to.runId}`, text: input }, after: last ? keyOf(last) : null } as const;
    const without = () => {
      const now = this.#runs.find((r) => r.runId === to.runId);
      if (this.#chat === chat && now) this.#put({ ...now, said: now.said.filter((s) => s !== one) });
    };
    this.#put({ ...to, said: [...to.said, one] });
    try {
      const sent = await this.connection.steer(input);
      if (sent.runId === to.runId) return sent;
      without();
      if (this.#chat === chat) this.#sent(sent.runId, "steer", { text: input });
      return sent;
    } catch (err) {
      without();
      throw err;
    }
  }

  /** Stops the run that is shown, and no other. What it has said stays. */
  stop(): Promise<void> {
    return this.connection.stop();
  }

  /**
   * Answers a question, which is then not shown any more; also when another answer has won, which is a RejoinError
   * `already_answered`, whose problem has the winning `outcome`. Returns the id of the run that goes on, where the answer starts one.
   */
  async answer(requestId: string, outcome: Readonly<Record<string, unknown>>): Promise<string | null> {
    const question = this.view.questions.find((q) => q.id === requestId);
    const close = () => {
      if (question) this.#answered.add(question);
      this.#changed();
    };
    try {
      const next = await this.connection.answer(requestId, outcome);
      close();
      return next;
    } catch (err) {
      if (err instanceof RejoinError && err.code === "already_answered") close();
      throw err;
    }
  }

  // What the connection says.

  #heard(state: State, change: Change): void {
    const { runId } = state;
    if (change.type === "reset") this.#reset(state);
    else if (change.type === "event") {
      const one = this.#find(runId);
      if (one) this.#put({ ...one, live: advance(one.live, [change.event]) });
    } else if (change.type === "end") {
      const one = this.#find(runId);
      if (one) this.#put({ ...one, end: change.end });
      if (change.end.persisted || change.end.superseded) this.#chat?.load(newTurns);
    } else if ((state.reason === "gone" && this.#reason !== "gone") || (this.#chat?.error && (state.status === "live" || state.status === "ended"))) {
      this.#chat?.load(newTurns);
    }
    this.#reason = state.reason;
    this.#changed();
  }

  #reset({ runId, events, end }: State): void {
    const left = this.#runs.filter((r) => r.runId !== runId && r.phase === "begun" && !r.end && !r.turn);
    for (const one of left) this.#put({ ...one, phase: "left" });
    if (left.length > 0) this.#chat?.load(newTurns);
    if (runId === null) return;
    const one = this.#find(runId) ?? run(runId, "begun");
    this.#put(one.phase === "waiting" ? { ...one, phase: "begun" } : one); // to its place, which says what state it begins with
    this.#put({ ...withEvents(one, events, stateBefore(this.#runs, runId)), end });
  }

  // What is sent.

  async #sending(input: Input, kind: string, send: () => Promise<Sent>): Promise<Sent> {
    const chat = this.#chat;
    const fields = typeof input === "string" ? { text: input } : input;
    const one = run(`sending-${++this.#sends}`, "sending", kind, fields);
    if (chat) this.#put(one);
    const gone = () => {
      if (this.#chat !== chat) return false;
      this.#runs = this.#runs.filter((r) => r.runId !== one.runId);
      this.#changed();
      return chat !== null;
    };
    try {
      const sent = await send();
      if (gone()) this.#sent(sent.runId, kind, fields);
      return sent;
    } catch (err) {
      gone();
      throw err;
    }
  }

  /** A message has made a run, which may be seen already. */
  #sent(runId: string, kind: string, input: Readonly<Record<string, unknown>>): void {
    const one = this.#find(runId);
    this.#put(one ? withInput(one, kind, input) : run(runId, "waiting", kind, input));
  }

  // What is saved.

  #superseded(): ReadonlySet<string> {
    return new Set(this.#runs.filter((r) => r.end?.superseded).map((r) => r.runId));
  }

  /** The history's turns take the place of what was seen. What was superseded and is not among them was not saved, and goes. */
  #merge(turns: readonly Turn[], superseded: ReadonlySet<string>): void {
    this.#runs = merge(this.#runs, turns).filter((r) => r.turn || !superseded.has(r.runId));
    const { runId, events } = this.connection.state;
    const one = this.#find(runId);
    if (!one || one.turn) return;
    // Its events may change a state that only the history has.
    const state = stateBefore(this.#runs, one.runId);
    if (!equal(state, {})) this.#put(withEvents(one, events, state));
  }

  /**
   * A chat whose last turn has ended to ask has nothing to watch, and yet its questions are open. The run is opened again by
   * its name: then they can be answered, and the run that goes on is shown.
   */
  #reopen(): void {
    const { chatId, runId, status, reason } = this.connection.state;
    const last = this.#runs.at(-1);
    if (chatId === null || !this.#chat?.loaded || runId !== null || status !== "idle" || reason !== "no_run") return;
    if (!last?.turn || last.turn.view.terminal !== "interrupted" || this.#reopened === last.runId) return;
    this.#reopened = last.runId;
    void this.connection.open(chatId, { ...this.#follow, runId: last.runId });
  }

  async #settled(attached: Promise<Attach>): Promise<Attach> {
    const chat = this.#chat;
    const outcome = await attached;
    if (this.#chat === chat) this.#reopen();
    return outcome;
  }

  // What is shown.

  #look(): ChatView {
    const { chatId, status, reason, runId, end } = this.connection.state;
    if (this.#chat === null || chatId === null) return this.#view;
    const one = this.#shown();
    const over = end !== null || status === "idle" || reason === "gone";
    return {
      chatId, status, reason, runId, end, messages: this.#show(this.#runs), questions: this.#questions(status, end, one),
      state: this.#runs.length > 0 ? shownOf(this.#runs.at(-1)!).view.state : {},
      busy: runId !== null && !over, historyError: this.#chat.error,
    };
  }

  /** While events are catching up, no question is new; one that they close goes at once. */
  #questions(status: Status, end: End | null, one: Run | undefined): readonly Question[] {
    const caughtUp = status === "live" || status === "ended";
    const open = (one?.live.view.questions ?? []).filter((q) =>
      q.status === "pending" && !this.#answered.has(q) && (!end || (q.name === interrupt && !end.superseded)) && (caughtUp || this.#asking.includes(q)));
    if (open.length !== this.#asking.length || open.some((q, i) => q !== this.#asking[i])) this.#asking = open;
    return this.#asking;
  }

  #shown(): Run | undefined {
    return this.#find(this.connection.state.runId);
  }

  #find(runId: string | null): Run | undefined {
    return this.#runs.find((r) => r.runId === runId);
  }

  #put(one: Run): void {
    this.#runs = put(this.#runs, one);
    this.#changed();
  }

  #forget(): void {
    this.#chat?.close();
    this.#chat = null;
    this.#runs = [];
    this.#asking = [];
    this.#reopened = null;
    this.#reason = null;
  }

  #changed(): void {
    this.#stale = true;
    if (!this.#told) return;
    this.#told = false;
    queueMicrotask(() => {
      this.#told = true;
      for (const call of [...this.#listeners]) call();
    });
  }
}
