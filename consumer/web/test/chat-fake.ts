// A connection that says what a test tells it to say, and answers when the test does.
import type { Connection } from "../src/connection.js";
import type { Attach, Change, End, Event, Input, Listener, OpenOptions, Reason, SendOptions, Sent, State, Status, Turn } from "../src/types.js";

export interface Asked<T> {
  readonly what: readonly unknown[];
  resolve(value: T): void;
  reject(error: unknown): void;
}

export class FakeConnection {
  state: State = { chatId: null, status: "idle", runId: null, seq: 0, events: [], end: null, reason: null };
  /** What was asked and is not answered, or was, in order. */
  readonly opened: Asked<Attach>[] = [];
  readonly histories: Asked<readonly Turn[]>[] = [];
  readonly sent: Asked<Sent>[] = [];
  readonly answered: Asked<string | null>[] = [];
  closed = 0;
  #listeners = new Set<Listener>();

  get connection(): Connection { return this as unknown as Connection; }
  get listeners(): number { return this.#listeners.size; }

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => { this.#listeners.delete(listener); };
  }
  open(chatId: string, options: OpenOptions = {}): Promise<Attach> {
    const other = this.state.chatId !== chatId;
    if (other) this.#set({ chatId, status: "connecting", runId: null, seq: 0, events: [], end: null, reason: null }, { type: "reset", events: [] });
    return this.#ask(this.opened, chatId, options);
  }
  retry(): Promise<Attach> { return this.#ask(this.opened, "retry"); }
  close(): void {
    this.closed++;
    this.state = { chatId: null, status: "idle", runId: null, seq: 0, events: [], end: null, reason: null };
  }
  send(input: Input, options: SendOptions = {}): Promise<Sent> { return this.#ask(this.sent, "send", input, options); }
  steer(input: Input): Promise<Sent> { return this.#ask(this.sent, "steer", input); }
  stop(): Promise<void> { return Promise.resolve(); }
  answer(requestId: string, outcome: unknown): Promise<string | null> { return this.#ask(this.answered, requestId, outcome); }
  history(limit?: number): Promise<readonly Turn[]> { return this.#ask(this.histories, this.state.chatId, limit); }

  /** A run's first frame, or another snapshot of it. */
  snapshot(runId: string, events: readonly Event[], status: Status = "live"): void {
    this.#set({ runId, seq: events.length, events: [...events], end: null, status, reason: null }, { type: "reset", events });
  }
  event(...events: readonly Event[]): void {
    for (const event of events) {
      (this.state.events as Event[]).push(event);
      this.#set({ seq: this.state.seq + 1 }, { type: "event", event, seq: this.state.seq + 1 });
    }
  }
  end(end: Partial<End> = {}): void {
    const full = { persisted: true, superseded: false, reason: "done", ...end };
    this.#set({ status: "ended", end: full }, { type: "end", end: full });
  }
  status(status: Status, reason: Reason | null = null): void { this.#set({ status, reason }, { type: "status" }); }

  #set(patch: Partial<State>, change: Change): void {
    this.state = { ...this.state, ...patch };
    for (const call of [...this.#listeners]) call(this.state, change);
  }
  #ask<T>(list: Asked<T>[], ...what: readonly unknown[]): Promise<T> {
    return new Promise<T>((resolve, reject) => { list.push({ what, resolve, reject }); });
  }
}

export const say = (messageId: string, delta: string): Event => ({ type: "TEXT_MESSAGE_CONTENT", messageId, delta });
export const textEnd = (messageId: string): Event => ({ type: "TEXT_MESSAGE_END", messageId });
export const startedWith = (runId: string, text: string): Event => ({ type: "RUN_STARTED", input: { messages: [{ id: `user-${runId}`, role: "user", content: text }] } });
export const interrupted: Event = { type: "RUN_FINISHED", outcome: { type: "interrupt", interrupts: [{ id: "i1", message: "May I?" }] } };
export const request = (requestId: string): Event => ({ type: "CUSTOM", name: "demo.permission.request", value: { requestId, status: "pending" } });
export const resolved = (requestId: string): Event => ({ type: "CUSTOM", name: "demo.permission.resolved", value: { requestId, status: "selected" } });

export function turn(run_id: string, text: string, events: readonly Event[], more: Partial<Turn> = {}): Turn {
  return { run_id, kind: "send", input: { text }, events, started_at: "", ended_at: "", reason: "done", ...more };
}
export const sentAs = (runId: string): Sent => ({ runId, turnId: null, clientToken: "t", acknowledged: true });

/** Until all that was answered has been taken in. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}
