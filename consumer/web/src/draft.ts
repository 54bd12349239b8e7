// A view while events are applied to it: messages are found, made, written to and completed here.
import type { Message, View } from "./messages.js";
import type { Event } from "./types.js";
import { text } from "./whole.js";

/** A view, and what the next events need besides. Never changed. */
export interface Held {
  readonly view: View;
  /** What the ids end with that are made here, for events that have none: errors and thoughts. */
  readonly suffix: string;
  readonly made: number;
  /** The thought that THINKING_TEXT_MESSAGE_CONTENT goes on with. */
  readonly thought: string | null;
  /** By kind and subagent, and by kind alone: the id that a chunk without one goes on with. */
  readonly chunks: ReadonlyMap<string, string>;
  /** By subagent: the message that chunks have begun and nothing has ended. */
  readonly begun: ReadonlyMap<string, { readonly kind: Streamed; readonly id: string }>;
  /** Ids of messages that are not shown. */
  readonly silent: ReadonlySet<string>;
  /** By key: messages that came whole. With an input, as they came; with a snapshot, null. */
  readonly given: ReadonlyMap<string, Message | null>;
}

export type Streamed = "assistant" | "reasoning" | "tool";
export type Draft = { -readonly [K in keyof Omit<Held, "view">]: Held[K] } & { -readonly [K in keyof View]: View[K] } & { own: Message[] | null };

// Messages are found from the newest one, which is nearly always the one that is meant.

export function find(d: Draft, kind: Message["kind"], id: string): number {
  const like = (m: Message) => m.id === id && (m.kind === kind || (kind === "assistant" && m.kind === "user"));
  return d.messages.findLastIndex(like);
}

/** The list as one that may be changed. */
function own(d: Draft): Message[] {
  if (d.own === null || d.own !== d.messages) d.messages = d.own = [...d.messages];
  return d.own;
}

export function put(d: Draft, at: number, m: Message): void {
  const list = own(d);
  if (at < 0) list.push(m);
  else list[at] = m;
}

function fresh(kind: Streamed, id: string): Message {
  return kind === "tool" ? { kind, id, name: "", args: "", result: null, complete: false } : { kind, id, text: "", complete: false };
}

/** Adds a delta, and the message where it is not there. */
export function write(d: Draft, kind: Streamed, id: string | null, delta: unknown): void {
  if (id === null || typeof delta !== "string" || (kind === "assistant" && d.silent.has(id))) return;
  const at = find(d, kind, id);
  const m = d.messages[at] ?? fresh(kind, id);
  if (at >= 0 && delta === "") return;
  if (m.kind === "tool") put(d, at, { ...m, args: m.args + delta });
  else if ("text" in m) put(d, at, { ...m, text: m.text + delta });
}

export function complete(d: Draft, kind: Streamed, id: string | null, is = true): void {
  const at = id === null ? -1 : find(d, kind, id);
  const m = d.messages[at];
  if (m && "complete" in m && m.complete !== is) put(d, at, { ...m, complete: is });
}

export function start(d: Draft, e: Event): void {
  const id = text(e["messageId"]);
  if (id === null || find(d, "assistant", id) >= 0) return;
  if (e["role"] === "user") put(d, -1, { kind: "user", id, text: "" });
  else if (e["role"] === "system" || e["role"] === "developer") d.silent = new Set([...d.silent, id]);
  else write(d, "assistant", id, "");
}

export function call(d: Draft, id: string | null, name: string | null): void {
  write(d, "tool", id, "");
  const at = id === null ? -1 : find(d, "tool", id);
  const m = d.messages[at];
  if (m?.kind === "tool" && name && m.name !== name) put(d, at, { ...m, name });
}

export function result(d: Draft, id: string | null, content: string): void {
  write(d, "tool", id, "");
  const at = id === null ? -1 : find(d, "tool", id);
  const m = d.messages[at];
  if (m?.kind === "tool") put(d, at, { ...m, result: content, complete: true });
}

/** An id for an event that has none. It counts events that are never folded, so it is the same in every replay. */
export function make(d: Draft, what: string): string {
  d.made++;
  return `${what}-${d.made}${d.suffix}`;
}
