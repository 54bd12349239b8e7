// The messages of the chat. Each has one node, by its kind and id, which is touched only when its message is
// another object than before; a chat of any length has a bounded number of them.
import type { Message } from "../../../consumer/web/src/messages.js";
import { show } from "./dom.js";
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
  grows: boolean;
}

/** onMore is called after the reader has asked for earlier messages. */
export function log(target: HTMLElement, earlier: HTMLButtonElement, onMore: () => void): Log {
  const kept = new Map<string, Kept>();
  let most = step;
  let last: readonly unknown[] = [];
  const keep = (wanted: ReadonlyMap<string, unknown>) => {
    for (const [key, k] of kept) {
      if (wanted.has(key)) continue;
      k.shown.node.remove();
      kept.delete(key);
    }
  };
  earlier.addEventListener("click", () => {
    most += step;
    last = [];
    onMore();
  });
  return {
    draw(messages, openQuestions, busy) {
      const now = [messages, busy, ...openQuestions];
      if (now.length === last.length && now.every((part, i) => part === last[i])) return;
      last = now;
      show(earlier, messages.length > most);
      const wanted = byKey(messages.slice(-most), openQuestions);
      const settled = settledOf(messages);
      keep(wanted); // first, so that none of the others has to move
      let place = target.firstElementChild;
      for (const [key, message] of wanted) {
        let k = kept.get(key);
        if (!k) kept.set(key, (k = { shown: newMessage(message), message: null, grows: false }));
        if (place === k.shown.node) place = place.nextElementSibling;
        else target.insertBefore(k.shown.node, place);
        const grows = busy && !settled.has(message);
        if (k.message !== message || k.grows !== grows) k.shown.draw(message, grows);
        k.message = message;
        k.grows = grows;
      }
    },
    clear() {
      keep(new Map());
      most = step;
      last = [];
      show(earlier, false);
    },
  };
}

/** What is shown, by kind and id. A question that is open has a card of its own instead. */
function byKey(messages: readonly Message[], openQuestions: ReadonlySet<string>): Map<string, Message> {
  const all = new Map<string, Message>();
  for (const message of messages) {
    const request = message.kind === "activity" ? message.content["requestId"] : null;
    if (typeof request === "string" && openQuestions.has(request)) continue;
    all.set(`${message.kind} ${message.id}`, message);
  }
  return all;
}

/** The messages of earlier runs: those before a user's message that has got an answer. */
function settledOf(messages: readonly Message[]): ReadonlySet<Message> {
  const answered = messages.findLastIndex((m) => m.kind !== "user");
  const asked = messages.slice(0, Math.max(0, answered)).findLastIndex((m) => m.kind === "user");
  return new Set(messages.slice(0, Math.max(0, asked)));
}
