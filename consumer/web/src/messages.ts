// What is to be shown of AG-UI events. Skeleton: the types are settled, the reduction is not built yet.
import type { Event } from "./types.js";

export type Message =
  | { readonly kind: "user"; readonly id: string; readonly text: string }
  | { readonly kind: "assistant"; readonly id: string; readonly text: string; readonly complete: boolean }
  | { readonly kind: "reasoning"; readonly id: string; readonly text: string; readonly complete: boolean }
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

/** The view after one more event. Never changes `view`; what has not changed keeps its identity. */
export function apply(_view: View, _event: Event): View { throw new Error("not built yet"); }

/** The view of all of them. */
export function reduce(_events: readonly Event[]): View { throw new Error("not built yet"); }
