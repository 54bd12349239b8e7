// The answers that a turn's input brings again. Clients send a chat along with each message, and need not call an answer what its
// run did: UI messages name it by the run's id, and by that with a number where a tool's result was in the midst of it.
import type { Held } from "./draft.js";
import type { Message } from "./messages.js";
import { equal } from "./patch.js";
import { keyOf } from "./whole.js";

/**
 * The messages of a run that stand for an answer that is shown already, as the chat's earlier runs have it. An answer goes with its
 * question: whatever of an input is not a user's stands for it where the user's message before it is one that is `shown` (for what
 * comes before all users' messages, the first one of them), and where it has the id of a run that is. What follows a user's message
 * that the chat does not show, such as the history of a chat that began elsewhere, is shown. What a run says itself, and what it
 * has changed since, is its own.
 */
export function again({ view, given }: Held, shown: (key: string) => boolean, isRun: (id: string) => boolean): ReadonlySet<Message> {
  const out = new Set<Message>();
  const whole = view.messages.filter((m) => given.has(keyOf(m)));
  const users = whole.filter((m) => m.kind === "user");
  // An agent's snapshot may hold this run's answer, which follows the newest question; what is before that is of earlier ones.
  const newest = whole.findLastIndex((m) => m.kind === "user" && !shown(keyOf(m)));
  let answered = users[0] !== undefined && shown(keyOf(users[0]));
  for (const [i, m] of whole.entries()) {
    const key = keyOf(m);
    if (m.kind === "user") answered = shown(key);
    else if (shown(key)) continue; // it is the earlier run's by its own id
    else if (m.kind === "assistant" && (isRun(m.id) || isRun(m.id.replace(/-\d+$/, "")))) out.add(m);
    else if (answered && (i < newest || equal(given.get(key), m))) out.add(m);
  }
  return out;
}
