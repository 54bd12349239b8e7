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
export function put(runs: readonly Run[], one: Run): readonly Run[] {
  const at = runs.findIndex((r) => r.runId === one.runId);
  if (at >= 0 && !(runs[at]?.phase === "waiting" && one.phase === "begun")) return runs.with(at, one);
  const rest = runs.filter((r) => r.runId !== one.runId);
  const first = one.phase === "begun" ? rest.findIndex((r) => r.phase === "waiting") : -1;
  return rest.toSpliced(first < 0 ? rest.length : first, 0, one);
}

/**
 * The runs with what the history has of them. Its order counts, and those that it lacks stay before the one that followed
 * them here. A saved turn never changes, so one that is there already stays as it is.
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
  for (const one of runs.toReversed()) {
    const at = out.findIndex((r) => r.runId === next);
    if (!has.has(one.runId)) out.splice(at < 0 ? out.length : at, 0, one);
    next = one.runId;
  }
  return out;
}

function saved(one: Run, { kind, input, events }: Turn, state: unknown): Run {
  const held = advance(opened(one.runId, input, state), events);
  return { ...one, kind, input, phase: "begun", turn: like(one.live, held) };
}
