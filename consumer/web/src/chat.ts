// A chat as an application shows it: its history, and the run under way. Skeleton: the types are settled.
import type { Message, Question } from "./messages.js";
import type { Attach, Connection } from "./index.js";
import type { End, Input, OpenOptions, Options, Reason, SendOptions, Sent, Status } from "./types.js";

export * from "./messages.js";

export interface ChatView {
  readonly chatId: string | null;
  readonly status: Status;
  readonly reason: Reason | null;
  /** The history's messages and the run's, each once. */
  readonly messages: readonly Message[];
  /** Those of the run that is shown that are open, once its events so far have all arrived. */
  readonly questions: readonly Question[];
  readonly runId: string | null;
  /** Whether a run is under way: stop makes sense, and a message would steer, queue or supersede. */
  readonly busy: boolean;
  /** How the run that is shown ended. With persisted false its answer must not be shown as saved. */
  readonly end: End | null;
  /** What the history said when it could not be loaded. */
  readonly historyError: string | null;
}

/** Loads a chat's history, watches its runs, and keeps what is shown free of doubles. */
export class Chat {
  readonly connection!: Connection;
  constructor(_options: Options = {}) {}
  get view(): ChatView { throw new Error("not built yet"); }
  /** Calls listener after each change of the view, at most once a microtask. */
  subscribe(_listener: () => void): () => void { throw new Error("not built yet"); }
  open(_chatId: string, _options?: OpenOptions): Promise<Attach> { throw new Error("not built yet"); }
  close(): void {}
  retry(): Promise<Attach> { throw new Error("not built yet"); }
  /** The user's message is shown at once, and once only. */
  send(_input: Input, _options?: SendOptions): Promise<Sent> { throw new Error("not built yet"); }
  steer(_input: Input): Promise<Sent> { throw new Error("not built yet"); }
  stop(): Promise<void> { throw new Error("not built yet"); }
  answer(_requestId: string, _outcome: Readonly<Record<string, unknown>>): Promise<string | null> { throw new Error("not built yet"); }
}
