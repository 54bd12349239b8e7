// The messages of a chat, out of its runs: each run is reduced by itself, and each message is shown once.
import { again } from "./again.js";
import type { Message } from "./messages.js";
import { equal } from "./patch.js";
import { type Run, shownOf, standing } from "./runs.js";
import { keep, keyOf } from "./whole.js";

/** `unsaved`: its run is over, and is not known to be saved. */
export type ChatMessage = Message & { readonly unsaved?: true };

interface Shown {
  readonly list: ChatMessage[];
  readonly at: Map<string, number>;
  /** Where each run's own messages begin, in the order of the runs. */
  readonly starts: Map<string, number>;
}

/** A function that gives the messages of runs. What all but the last one come to is made again only when one of them changes. */
export function shower(): (runs: readonly Run[]) => readonly ChatMessage[] {
  let earlier: readonly Run[] = [];
  let base: Shown = { list: [], at: new Map(), starts: new Map() };
  let before: readonly ChatMessage[] = [];
  return (all) => {
    const runs = standing(all).filter((one, i, all) => one.phase !== "sending" || !all.slice(i + 1).some((later) => repeats(later, one)));
    const last = runs.at(-1);
    const most = runs.slice(0, -1);
    if (most.length !== earlier.length || most.some((one, i) => one !== earlier[i])) {
      base = { list: [], at: new Map(), starts: new Map() };
      for (const one of most) for (const [key, at] of lay(base, one)) base.at.set(key, at);
      earlier = most;
    }
    const list = [...base.list];
    if (last) lay({ list, at: edits(last) ? new Map(base.at) : base.at, starts: new Map(base.starts) }, last);
    if (list.length !== before.length || list.some((m, i) => m !== before[i])) before = list;
    return before;
  };
}

/** Whether a run that has begun shows the message of a send that has no answer yet. */
function repeats(later: Run, sending: Run): boolean {
  const [message] = sending.live.view.messages;
  if (message?.kind !== "user" || message.id !== `user-${sending.runId}` || later.phase !== "begun") return false;
  return shownOf(later).view.messages.some((m) => m.kind === "user" && m.id === `user-${later.runId}` && m.text === message.text);
}

/** Puts a run's messages on the list, and returns where those are that were not there before. */
function lay(shown: Shown, one: Run): Map<string, number> {
  if (edits(one)) cut(shown, one);
  const { list, at, starts } = shown;
  const added = new Map<string, number>();
  const held = shownOf(one);
  const twice = again(held, (key) => at.has(key), (id) => starts.has(id));
  starts.set(one.runId, list.length);
  for (const m of withSaid(one)) {
    if (twice.has(m)) continue;
    const key = keyOf(m);
    const old = at.get(key) ?? -1;
    const earlier = list[old];
    if (earlier && held.given.has(key)) {
      // It came whole. What an input has is what was there; what a snapshot has, or deltas have made of it since, is newer.
      if (!equal(held.given.get(key), m)) list[old] = keep(plain(earlier), m) === m ? dress(m, one) : earlier;
    } else if (earlier?.kind === "tool" && m.kind === "tool" && m.name === "" && m.args === "" && m.result !== null) {
      list[old] = completed(earlier, m); // a later run answers an earlier one's call
    } else {
      const own = earlier ? renamed(m, one.runId) : m;
      added.set(keyOf(own), list.length);
      list.push(dress(own, one));
    }
  }
  return added;
}

/** Whether a run says what its chat's messages are, so that what it lacks is not shown any more. */
function edits(one: Run): boolean {
  return (one.kind === "edit" || one.kind === "retry") && Array.isArray(one.input?.["messages"]);
}

/** Takes the runs away that come after the last one of which an edit has a message. */
function cut({ list, at, starts }: Shown, one: Run): void {
  const known = [...shownOf(one).given.keys()].map((key) => at.get(key) ?? -1);
  const last = Math.max(-1, ...known);
  const from = last < 0 ? undefined : [...starts.values()].find((start) => start > last);
  if (from === undefined) return;
  list.length = from;
  for (const [runId, start] of starts) if (start >= from) starts.delete(runId);
  for (const [key, index] of at) if (index >= from) at.delete(key);
}

/** A run's messages, with those sent to it where it was when they were. One that its events have too is left to them. */
function withSaid(one: Run): readonly Message[] {
  const { messages } = shownOf(one).view;
  if (one.said.length === 0) return messages;
  const out = [...messages];
  for (const { message, after } of one.said) {
    const at = after === null ? -1 : out.findLastIndex((m) => keyOf(m) === after);
    const from = messages.findLastIndex((m) => keyOf(m) === after) + 1;
    const echoed = messages.slice(from).some((m) => m.kind === "user" && message.kind === "user" && m.text === message.text);
    if (!echoed) out.splice(at < 0 && after !== null ? out.length : at + 1, 0, message);
  }
  return out;
}

// Messages that are made of others are made once, so that they have one identity.

const marked = new WeakMap<Message, ChatMessage>();
const plains = new WeakMap<ChatMessage, Message>();
const others = new WeakMap<Message, Message>();
const results = new WeakMap<Message, ChatMessage>();

function dress(m: Message, { turn, phase, end }: Run): ChatMessage {
  const saved = turn !== null || (end ? end.persisted : phase !== "left");
  if (saved) return m;
  const made = marked.get(m) ?? { ...m, unsaved: true };
  marked.set(m, made);
  plains.set(made, m);
  return made;
}

function plain(m: ChatMessage): Message {
  return plains.get(m) ?? m;
}

/** An id that an earlier run has used is that run's. */
function renamed(m: Message, runId: string): Message {
  const made = others.get(m) ?? { ...m, id: `${m.id}@${runId}` };
  others.set(m, made);
  return made;
}

function completed(call: ChatMessage & { kind: "tool" }, { result }: Message & { kind: "tool" }): ChatMessage {
  const before = results.get(call);
  if (before?.kind === "tool" && before.result === result) return before;
  const made = { ...call, result, complete: true };
  results.set(call, made);
  return made;
}
