// What is known of the connection and of the run: the status, what is saved, and what is wrong.
import type { ChatView } from "../../../consumer/web/src/chat.js";
import { attribute, find, show, text } from "./dom.js";
import { endOf, reasonWords, statusWords } from "./words.js";

export interface StateLines {
  draw(view: ChatView): void;
  /** Says what a request came to, until the next one; null takes it back. */
  trouble(what: string | null): void;
  notice(what: string | null): void;
}

/** `again` asks the last question once more. */
export function stateLines(retry: () => void, again: (question: string) => void): StateLines {
  const status = find("status");
  const saved = find("saved");
  const error = find("error");
  const why = find("error-text");
  const tryAgain = find<HTMLButtonElement>("retry");
  const askAgain = find<HTMLButtonElement>("again");
  const notice = find("notice");
  let trouble: string | null = null;
  let question: string | null = null; // whose answer is not whole
  tryAgain.addEventListener("click", retry);
  askAgain.addEventListener("click", () => { if (question !== null) again(question); });
  return {
    draw(view) {
      attribute(status, "data-status", view.status);
      text(status, statusWords[view.status]);
      const end = view.end;
      attribute(saved, "data-saved", end ? String(end.persisted && !end.superseded) : view.busy ? "pending" : undefined);
      attribute(saved, "data-whole", end?.reason === "done" ? true : undefined);
      text(saved, end ? endOf(end) : view.busy ? "Not saved yet" : view.messages.length > 0 && view.status === "idle" ? "From the saved history" : "");
      const last = view.messages.findLast((m) => m.kind === "user");
      question = end && !end.superseded && !(end.persisted && end.reason === "done") && last ? last.text : null;
      show(askAgain, question !== null);
      const reason = view.reason ? reasonWords[view.reason] : null;
      const failed = view.status === "failed";
      const what = [trouble, reason, view.historyError && !reason ? `The history could not be loaded: ${view.historyError}` : null].filter((w) => w !== null);
      text(why, what.join(" ") || (failed ? "The connection was given up. What was received is kept." : ""));
      show(error, why.textContent !== "");
      show(tryAgain, failed || reason !== null || view.historyError !== null);
    },
    trouble(what) { trouble = what; },
    notice(what) {
      text(notice, what ?? "");
      show(notice, what !== null);
    },
  };
}
