// What an application shows of a chat.
import type { Question } from "./messages.js";
import { interrupt } from "./questions.js";
import { type Run, shownOf } from "./runs.js";
import { type ChatMessage, shower } from "./shown.js";
import type { End, Reason, State, Status } from "./types.js";

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

export interface Viewer {
  /** The view of a chat's runs while its connection is in a state. What has not changed since the last one keeps its identity. */
  look(state: State & { readonly chatId: string }, runs: readonly Run[], historyError: string | null): ChatView;
  /** A question is not to be shown any more, whatever its events say so far. */
  close(question: Question): void;
}

export function viewer(): Viewer {
  const show = shower();
  const closed = new WeakSet<Question>();
  let asking: readonly Question[] = []; // as shown last

  /** While events are catching up, no question is new; one that they close goes at once. */
  const questions = (status: Status, end: End | null, one: Run | undefined): readonly Question[] => {
    const caughtUp = status === "live" || status === "ended";
    const open = (one?.live.view.questions ?? []).filter((q) =>
      q.status === "pending" && !closed.has(q) && (!end || (q.name === interrupt && !end.superseded)) && (caughtUp || asking.includes(q)));
    if (open.length !== asking.length || open.some((q, i) => q !== asking[i])) asking = open;
    return asking;
  };

  return {
    close: (question) => { closed.add(question); },
    look({ chatId, status, reason, runId, end }, runs, historyError) {
      const over = end !== null || status === "idle" || reason === "gone";
      return {
        chatId, status, reason, runId, end, messages: show(runs), questions: questions(status, end, runs.find((r) => r.runId === runId)),
        state: runs.length > 0 ? shownOf(runs.at(-1)!).view.state : {},
        busy: runId !== null && !over, historyError,
      };
    },
  };
}
