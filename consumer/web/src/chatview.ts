// What an application shows of a chat.
import type { Question } from "./messages.js";
import type { ChatMessage } from "./shown.js";
import type { End, Reason, Status } from "./types.js";

/** Never changed: what changes is a new one, with the messages and questions in it that have not. */
export interface ChatView {
  readonly chatId: string | null;
  readonly status: Status;
  readonly reason: Reason | null;
  /** The history's messages and the run's, each once. Two of them differ in `kind` or `id`. */
  readonly messages: readonly ChatMessage[];
  /** Those of the run that is shown that are open, once its events so far have all arrived. */
  readonly questions: readonly Question[];
  /** The AG-UI shared state, as the chat's runs have left it. */
  readonly state: unknown;
  readonly runId: string | null;
  /** Whether a run is under way: stop makes sense, and a message would steer, queue or supersede. */
  readonly busy: boolean;
  /** How the run that is shown ended. With persisted false its answer must not be shown as saved. */
  readonly end: End | null;
  /** What the history said when it could not be loaded. */
  readonly historyError: string | null;
}

/** What there is to show of no chat, or of one that is not open yet. */
export function empty(chatId: string | null): ChatView {
  const status = chatId === null ? "idle" : "connecting";
  return { chatId, status, reason: null, messages: [], questions: [], state: {}, runId: null, busy: false, end: null, historyError: null };
}
