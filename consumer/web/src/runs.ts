// The runs of a chat in the order in which they are shown, from two sources: the history, and what was seen of them here.
import type { Held } from "./draft.js";
import { advance, ask, begin } from "./reducer.js";
import type { End, Event, Turn } from "./types.js";
import { equal, isObject } from "./patch.js";
import { keepAll } from "./whole.js";
import type { Message } from "./messages.js";

type Fields = Readonly<Record<string, unknown>>;

/** One of them. Never changed: what changes is a new one. */
export interface Run {
  /** Or what a send is called that has no answer yet. */
  readonly runId: string;
  readonly kind: string | null;
  readonly input: Fields | null;
  /** What was seen of it here, beginning with what it was asked. */
  readonly live: Held;
  /** What the history has, which takes the place of that. */
  readonly turn: Held | null;
  /** sending: not acknowledged; waiting: none of it was seen; begun; left: another run was shown before its end was. */
  readonly phase: "sending" | "waiting" | "begun" | "left";
  readonly end: End | null;
  /** Messages sent to it while it answered. Its events need not have them. */
  readonly said: readonly { readonly message: Message; readonly after: string | null }[];
}

export function run(runId: string, phase: Run["phase"], kind: string | null = null, input: Fields | null = null, state: unknown = {}): Run {
  return { runId, kind, input, live: opened(runId, input, state), turn: null, phase, end: null, said: [] };
}

function opened(runId: string, input: Fields | null, state: unknown): Held {
  const own = input?.["state"];
  const held = begin(runId, isObject(own) ? own : state);
  return input ? ask(held, runId, input) : held;
}

/** A run with events in place of what was seen of it. Messages that say the same keep their identity. */
export function withEvents(one: Run, events: Iterable<Event>, state: unknown): Run {
  return { ...one, phase: "begun", live: like(one.live, advance(opened(one.runId, one.input, state), events)) };
}

/** A run with what it was asked, which was not known before. */
export function withInput(one: Run, kind: string | null, input: Fields): Run {
  return { ...one, kind, input, live: ask(one.live, one.runId, input) };
}

function like(older: Held, newer: Held): Held {
  const before = older.view.questions;
  const questions = newer.view.questions.map((q) => before.find((b) => equal(b, q)) ?? q); // a form that is open stays
  return { ...newer, view: { ...newer.view, questions, messages: keepAll(older.view.messages, newer.view.messages) } };
}

/** What is shown of a run. */
export function shownOf(one: Run): Held {
  return one.turn ?? one.live;
}

/** The state that a run begins with: that in which the one before it left the chat's. */
export function stateBefore(runs: readonly Run[], runId: string): unknown {
  const at = runs.findIndex((r) => r.runId === runId);
  const before = at < 0 ? runs.at(-1) : runs[at - 1];
  return before ? shownOf(before).view.state : {};
}

/** Changes a run, or adds it: behind all that have begun or are being sent, before those that wait. */
function put(runs: readonly Run[], one: Run): readonly Run[] {
  const at = runs.findIndex((r) => r.runId === one.runId);
  if (at >= 0 && !(runs[at]?.phase === "waiting" && one.phase === "begun")) return runs.with(at, one);
  const rest = runs.filter((r) => r.runId !== one.runId);
  const first = one.phase === "begun" ? rest.findIndex((r) => r.phase === "waiting") : -1;
  return rest.toSpliced(first < 0 ? rest.length : first, 0, one);
}

/** The runs of one chat that is open. */
export interface Runs {
  readonly all: readonly Run[];
  find(runId: string | null): Run | undefined;
  put(one: Run): void;
  drop(runId: string): void;
  set(all: readonly Run[]): void;
}

/** `changed` is called after each change. */
export function runsOf(changed: () => void): Runs {
  let all: readonly Run[] = [];
  const set = (next: readonly Run[]) => {
    all = next;
    changed();
  };
  return {
    get all() { return all; },
    set,
    find: (runId) => all.find((r) => r.runId === runId),
    put: (one) => set(put(all, one)),
    drop: (runId) => set(all.filter((r) => r.runId !== runId)),
  };
}

/**
 * The runs with what the history has of them. Its order counts, and those that it lacks stay before the one that followed
 * them here; where none did, one that is over stays behind the one before it, and one that is not is the last. A saved turn never changes, so one that is there already stays as it is.
 */
export function merge(runs: readonly Run[], turns: readonly Turn[]): readonly Run[] {
  const known = new Map(runs.map((r) => [r.runId, r]));
  const out: Run[] = [];
  for (const turn of turns) {
    const one = known.get(turn.run_id) ?? run(turn.run_id, "begun", turn.kind, turn.input);
    const state = out.at(-1) ? shownOf(out.at(-1)!).view.state : {};
    out.push(one.turn ? one : saved(one, turn, state));
  }
  const has = new Set(out.map((r) => r.runId));
  let next: string | null = null;
  for (const [i, one] of [...runs.entries()].toReversed()) {
    const at = out.findIndex((r) => r.runId === next);
    const before = one.end ? runs.slice(0, i).findLast((r) => has.has(r.runId))?.runId : undefined;
    const behind = out.findIndex((r) => r.runId === before) + 1;
    if (!has.has(one.runId)) out.splice(at < 0 ? behind || out.length : at, 0, one);
    next = one.runId;
  }
  return out;
}

function saved(one: Run, { kind, input, events }: Turn, state: unknown): Run {
  const held = advance(opened(one.runId, input, state), events);
  return { ...one, kind, input, phase: "begun", turn: like(one.live, held) };
}

/**
 * The runs without those whose place a later one has taken, with the approvals that went on from them: a retry that of the same question
 * before it, and an edit that of one whose answer is not saved. Which saved one an edit takes the place of, only its messages say.
 */
export function standing(runs: readonly Run[]): readonly Run[] {
  const out: Run[] = [];
  for (const one of runs) {
    let last = out.length - 1;
    while (out[last]?.kind === "approval") last--;
    const before = out[last];
    if (before && replaces(one, before)) out.length = last;
    out.push(one);
  }
  return out.length === runs.length ? runs : out;
}

function replaces(one: Run, before: Run): boolean {
  const words = asked(one);
  if (words === null || one.input?.["messages"] !== undefined) return false;
  return one.kind === "retry" ? asked(before) === words : one.kind === "edit" && before.turn === null;
}

/** What a run was asked, as text. */
function asked({ runId, input, live }: Run): string | null {
  const words = input?.["text"] ?? live.view.messages.find((m) => m.kind === "user" && m.id === `user-${runId}`);
  return typeof words === "string" ? words : isObject(words) && typeof words["text"] === "string" ? words["text"] : null;
}
