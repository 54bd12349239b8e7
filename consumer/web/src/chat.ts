// A chat as an application shows it: its history, and the run under way. runs.ts has the runs, sends.ts what is being sent,
// chatview.ts what is shown of both.
import { type ChatView, empty, type Viewer, viewer } from "./chatview.js";
import { connect, type Connection } from "./connection.js";
import { type History, historyOf } from "./history.js";
import { equal } from "./patch.js";
import { advance } from "./reducer.js";
import { merge, run, type Run, type Runs, runsOf, stateBefore, withEvents } from "./runs.js";
import { type Sends, sendsOf } from "./sends.js";
import { type Attach, type Change, type Input, type OpenOptions, type Options, RejoinError, type SendOptions, type Sent, type State, type Turn } from "./types.js";

export * from "./messages.js";
export type { ChatMessage } from "./shown.js";
export type { ChatView } from "./chatview.js";

/** How many turns are loaded when a chat is opened, the most there are, and when one of its runs has ended. */
const allTurns = 100;
const newTurns = 20;

/** One chat, from when it is opened until another one is: what comes late goes to the one that it is for. */
interface Opened {
  readonly history: History;
  readonly runs: Runs;
  readonly sends: Sends;
  readonly viewer: Viewer;
  asked: boolean; // it is known whether it has a run
  reason: State["reason"]; // as told last
  reopened: string | null; // the run that was opened again for its questions
  follow: Pick<OpenOptions, "follow">;
}

/** Loads a chat's history, watches its runs, and keeps what is shown free of doubles. */
export class Chat {
  readonly connection: Connection;
  readonly #listeners = new Set<() => void>();
  #view = empty(null);
  #stale = false; // the view is not that of now
  #told = true; // nobody is waiting to be told
  #chat: Opened | null = null;
  #leave: (() => void) | null = null;

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
    let chat = this.#chat;
    if (chat === null || this.view.chatId !== chatId) {
      chat?.history.close();
      chat = this.#chat = this.#opened();
      this.#view = empty(chatId); // until the connection says more
    }
    chat.follow = options.follow === undefined ? {} : { follow: options.follow };
    chat.reopened = options.runId ?? null;
    this.#leave ??= this.connection.subscribe((state, change) => { if (this.#chat) this.#heard(this.#chat, state, change); });
    const attached = this.connection.open(chatId, options);
    chat.history.load(allTurns);
    this.#changed();
    return this.#settled(attached);
  }

  /** Shows nothing. Runs go on. */
  close(): void {
    if (this.#chat === null) return;
    this.#leave?.();
    this.#leave = null;
    this.connection.close();
    this.#chat.history.close();
    this.#chat = null;
    this.#view = empty(null);
    this.#changed();
  }

  /** Attaches again, and loads the history where that has failed. */
  retry(): Promise<Attach> {
    if (this.#chat?.history.error) this.#chat.history.load(allTurns);
    return this.#settled(this.connection.retry());
  }

  /**
   * Sends a message. It is shown at once, and once only; one that fails is taken away again, and the error thrown. One of kind `retry` takes
   * the place of the same question before it, with its answer; one of kind `edit` that of an answer that was not saved.
   */
  send(input: Input, options: SendOptions = {}): Promise<Sent> {
    const send = () => this.connection.send(input, options);
    return this.#chat ? this.#chat.sends.message(input, options.kind ?? "send", send) : send();
  }

  /** Sends a message to the run that is under way, where it is shown at its place, or starts one. */
  steer(input: Input): Promise<Sent> {
    const send = () => this.connection.steer(input);
    const { busy, runId } = this.view;
    if (!this.#chat) return send();
    const { runs, sends } = this.#chat;
    return busy && typeof input === "string" && runs.find(runId) ? sends.steering(runId!, input, send) : sends.message(input, "steer", send);
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
    const chat = this.#chat;
    const close = () => {
      if (question) chat?.viewer.close(question);
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

  #opened(): Opened {
    const runs = runsOf(() => this.#changed());
    const superseded = () => new Set(runs.all.filter((r) => r.end?.superseded).map((r) => r.runId));
    const history = historyOf(this.connection, superseded, (turns, gone) => this.#merge(runs, turns, gone), () => {
      this.#reopen();
      this.#changed();
    });
    return { history, runs, sends: sendsOf(runs), viewer: viewer(), asked: false, reason: null, reopened: null, follow: {} };
  }

  // What the connection says.

  #heard(chat: Opened, state: State, change: Change): void {
    const { runId, status, reason, end } = state;
    const { runs, history } = chat;
    const one = runs.find(runId);
    if (change.type === "reset") this.#reset(chat, state);
    else if (change.type === "event") {
      if (one) runs.put({ ...one, live: advance(one.live, [change.event]) });
    } else if (change.type === "end") {
      if (one) runs.put({ ...one, end: change.end });
      if (change.end.persisted || change.end.superseded) history.load(newTurns);
    } else if (
      (reason === "gone" && chat.reason !== "gone") // its end was not seen
      || (reason === "no_run" && (chat.asked || end)) // as told anew after a break: what is over may have begun since
      || (history.error && (status === "live" || status === "ended"))
    ) {
      history.load(newTurns);
    }
    chat.asked ||= reason !== null || runId !== null;
    chat.reason = reason;
    this.#changed();
  }

  #reset({ runs, history }: Opened, { runId, events, end }: State): void {
    const left = runs.all.filter((r) => r.runId !== runId && r.phase === "begun" && !r.end && !r.turn);
    for (const one of left) runs.put({ ...one, phase: "left" });
    if (left.length > 0) history.load(newTurns);
    if (runId === null) return;
    const one: Run = runs.find(runId) ?? run(runId, "begun");
    runs.put(one.phase === "waiting" ? { ...one, phase: "begun" } : one); // to its place, which says what state it begins with
    runs.put({ ...withEvents(one, events, stateBefore(runs.all, runId)), end });
  }

  // What is saved.

  /** The history's turns take the place of what was seen. What was superseded and is not among them was not saved, and goes. */
  #merge(runs: Runs, turns: readonly Turn[], superseded: ReadonlySet<string>): void {
    runs.set(merge(runs.all, turns).filter((r) => r.turn || !superseded.has(r.runId)));
    const { runId, events } = this.connection.state;
    const one = runs.find(runId);
    if (!one || one.turn) return;
    // Its events may change a state that only the history has.
    const state = stateBefore(runs.all, one.runId);
    if (!equal(state, {})) runs.put(withEvents(one, events, state));
  }

  /**
   * A chat whose last turn has ended to ask has nothing to watch, and yet its questions are open. The run is opened again by
   * its name: then they can be answered, and the run that goes on is shown.
   */
  #reopen(): void {
    const chat = this.#chat;
    const { chatId, runId, status, reason } = this.connection.state;
    const last = chat?.runs.all.at(-1);
    if (!chat || chatId === null || !chat.history.loaded || runId !== null || status !== "idle" || reason !== "no_run") return;
    if (!last?.turn || last.turn.view.terminal !== "interrupted" || chat.reopened === last.runId) return;
    chat.reopened = last.runId;
    void this.connection.open(chatId, { ...chat.follow, runId: last.runId });
  }

  async #settled(attached: Promise<Attach>): Promise<Attach> {
    const chat = this.#chat;
    const outcome = await attached;
    if (this.#chat === chat) this.#reopen();
    return outcome;
  }

  // What is shown.

  #look(): ChatView {
    const { chatId } = this.connection.state;
    if (this.#chat === null || chatId === null) return this.#view;
    const { viewer, runs, history } = this.#chat;
    return viewer.look({ ...this.connection.state, chatId }, runs.all, history.error);
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
