import type { Attach, Input, Listener, OpenOptions, Options, SendOptions, Sent, State, Turn } from "./types.js";

const nothing: State = { chatId: null, status: "idle", runId: null, seq: 0, events: [], end: null, reason: null };

/** One connection, which can be pointed from chat to chat. */
export class Connection {
  constructor(readonly options: Options = {}) {}
  /** What it holds now. */
  get state(): State { return nothing; }
  /** Calls listener for each change, in order, until the function returned is called. */
  subscribe(_listener: Listener): () => void { throw new Error("not built yet"); }
  /**
   * Points the connection at a chat, and attaches to its run. For another chat, what was held is put away (a reset);
   * for the same one nothing is touched unless the attempt succeeds. Where it finds nothing the application shows
   * the history, and the connection follows the chat in the background, unless told not to. A later open, or a close,
   * makes this one's promise resolve with what it found by then.
   */
  open(_chatId: string, _options?: OpenOptions): Promise<Attach> { throw new Error("not built yet"); }
  /** Attaches again at once: after `failed`, or when the application knows better. At most one attempt is in flight. */
  retry(): Promise<Attach> { throw new Error("not built yet"); }
  /** Leaves. No listener is called afterwards; the run goes on. It may be opened again. */
  close(): void {}
  /** Sends a message to the chat that is open and shows its run. It is sent once, never repeated. */
  send(_input: Input, _options?: SendOptions): Promise<Sent> { throw new Error("not built yet"); }
  /** Sends a message to the run that is under way, or starts one. */
  steer(_input: Input, _options?: Omit<SendOptions, "onActive">): Promise<Sent> { throw new Error("not built yet"); }
  /** Stops the run that is shown, and no other. */
  stop(_reason?: string): Promise<void> { throw new Error("not built yet"); }
  /**
   * Answers a question of the run that is shown. It returns the id of the run that goes on, where the answer starts one. Where
   * another answer has won it throws a RejoinError `already_answered`, whose problem has the `outcome`.
   */
  answer(_requestId: string, _outcome: Readonly<Record<string, unknown>>): Promise<string | null> { throw new Error("not built yet"); }
  /** The saved turns of the chat that is open, the newest last. */
  history(_limit?: number): Promise<readonly Turn[]> { throw new Error("not built yet"); }
}
