// What is to be shown of AG-UI events: the view, and its reduction. reducer.ts does the work, on a draft (draft.ts); chunks.ts
// has what chunks need, whole.ts messages that come as a whole, questions.ts what is asked, patch.ts JSON patches.
import type { Held } from "./draft.js";
import { advance, begin } from "./reducer.js";
import type { Event } from "./types.js";

/** Ids are those of the events, never made from positions. Two messages of one view differ in `kind` or `id`. */
export type Message =
  | { readonly kind: "user"; readonly id: string; readonly text: string }
  | { readonly kind: "assistant"; readonly id: string; readonly text: string; readonly complete: boolean }
  | { readonly kind: "reasoning"; readonly id: string; readonly text: string; readonly complete: boolean }
  /** `id` is the call's. `args` is text as it came, and is whole once `complete`. */
  | { readonly kind: "tool"; readonly id: string; readonly name: string; readonly args: string; readonly result: string | null; readonly complete: boolean }
  | { readonly kind: "activity"; readonly id: string; readonly type: string; readonly content: Readonly<Record<string, unknown>> }
  | { readonly kind: "error"; readonly id: string; readonly text: string; readonly code: string | null };

/** An open or closed question, as of PROTOCOL.md; `id` is its request_id. */
export interface Question {
  readonly id: string;
  readonly name: string;
  /** pending, selected, accepted, declined, cancelled, answered or expired */
  readonly status: string;
  readonly value: Readonly<Record<string, unknown>>;
  readonly outcome: Readonly<Record<string, unknown>> | null;
  readonly reason: string | null;
}

/** What the events of one run come to. */
export interface View {
  readonly messages: readonly Message[];
  readonly questions: readonly Question[];
  readonly state: unknown; // the AG-UI shared state
  /** The events' own terminal: RUN_FINISHED or RUN_ERROR. It does not say that anything was saved. */
  readonly terminal: "finished" | "error" | "interrupted" | "cancelled" | null;
}

/** The view of no events. */
export const nothing: View = { messages: [], questions: [], state: {}, terminal: null };

// What a view does not show and its next event may need: which message a chunk without an id goes on with.
const behind = new WeakMap<View, Held>();

/**
 * The view after one more event. Never changes `view`; what has not changed keeps its identity. A delta costs one message and
 * one array of references; text grows by concatenation, which copies nothing.
 */
export function apply(view: View, event: Event): View {
  return known(advance(behind.get(view) ?? { ...begin(), view }, [event]));
}

/** The view of all of them. */
export function reduce(events: readonly Event[]): View {
  return known(advance({ ...begin(), view: nothing }, events));
}

function known(held: Held): View {
  behind.set(held.view, held);
  return held.view;
}
