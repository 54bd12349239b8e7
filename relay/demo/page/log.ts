// The messages of the chat. Each has one node, by its kind and id, which is touched only when its message is
// another object than before; a chat of any length has a bounded number of them.
import type { Message } from "../../../consumer/web/src/messages.js";
import { attribute, show } from "./dom.js";
import { newMessage, type Shown } from "./message.js";

const step = 150; // messages shown at first, and more at each request

export interface Log {
  /** busy: a run is under way, so that what is not complete still grows. */
  draw(messages: readonly Message[], openQuestions: ReadonlySet<string>, busy: boolean): void;
  /** Another chat begins with nothing. */
  clear(): void;
}

interface Kept {
  readonly shown: Shown;
  message: Message | null;
  round: number;
}

/** onMore is called after the reader has asked for earlier messages. */
export function log(target: HTMLElement, earlier: HTMLButtonElement, onMore: () => void): Log {
  const kept = new Map<string, Kept>();
  let most = step;
  let round = 0;
  let last: readonly Message[] | null = null;
  let asked = "";
  let growing = false;
  earlier.addEventListener("click", () => {
    most += step;
    last = null;
    onMore();
  });
  const sweep = () => {
    for (const [key, k] of kept) {
      if (k.round === round) continue;
      k.shown.node.remove();
      kept.delete(key);
    }
  };
  return {
    draw(messages, openQuestions, busy) {
      const questions = [...openQuestions].join();
      const turned = busy !== growing; // what is not complete looks otherwise then
      if (messages === last && questions === asked && !turned) return;
      growing = busy;
      last = messages;
      asked = questions;
      round++;
      const hiddenOnes = Math.max(0, messages.length - most);
      show(earlier, hiddenOnes > 0);
      let place: Element | null = target.firstElementChild;
      for (const message of messages.slice(hiddenOnes)) {
        const request = questionOf(message);
        if (request && openQuestions.has(request)) continue; // its card is shown instead
        const key = `${message.kind} ${message.id}`;
        let k = kept.get(key);
        if (k?.round === round) continue; // a second one of that name has nothing of its own to show
        if (!k) kept.set(key, (k = { shown: newMessage(message), message: null, round }));
        k.round = round;
        if (place === k.shown.node) place = place.nextElementSibling;
        else target.insertBefore(k.shown.node, place);
        if (k.message !== message || turned) k.shown.draw(message, busy);
        k.message = message;
      }
      sweep();
      attribute(target, "data-empty", kept.size === 0);
    },
    clear() {
      round++;
      sweep();
      most = step;
      last = null;
      show(earlier, false);
    },
  };
}

/** The request_id of the question that an activity shows; null for any other message. */
export function questionOf(message: Message): string | null {
  if (message.kind !== "activity") return null;
  const id = message.content["requestId"];
  return typeof id === "string" ? id : null;
}
