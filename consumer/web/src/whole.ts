// Messages that come as a whole: those of RUN_STARTED's input, of a MESSAGES_SNAPSHOT, and of a turn's input.
import type { Message } from "./messages.js";
import { equal, isObject } from "./patch.js";

export const text = (v: unknown): string | null => (typeof v === "string" ? v : null);

/** What tells a message from the others: users and assistants share their ids, the other kinds have their own. */
export function keyOf(m: Message): string {
  return `${m.kind === "user" || m.kind === "assistant" ? "text" : m.kind} ${m.id}`;
}

/** Messages, and the ids of those that are said to nobody: a system's, a developer's. */
export interface Given {
  readonly messages: readonly Message[];
  readonly silent: readonly string[];
  readonly results: ReadonlyMap<string, string>;
}

/** What AG-UI messages come to. An assistant's calls follow it as messages of their own, with their results. */
export function given(messages: unknown): Given {
  const list: Message[] = [];
  const silent: string[] = [];
  const results = new Map<string, string>();
  for (const m of Array.isArray(messages) ? messages : []) {
    const id = isObject(m) ? text(m["id"]) : null;
    if (!isObject(m)) continue;
    if (m["role"] === "tool") {
      const call = text(m["toolCallId"]);
      if (call !== null) results.set(call, said(m["content"]));
      continue;
    }
    if (id === null) continue;
    switch (m["role"]) {
      case "user": list.push({ kind: "user", id, text: said(m["content"]) }); break;
      case "reasoning": list.push({ kind: "reasoning", id, text: said(m["content"]), complete: true }); break;
      case "activity":
        list.push({ kind: "activity", id, type: text(m["activityType"]) ?? "", content: isObject(m["content"]) ? m["content"] : {} });
        break;
      case "assistant": {
        const calls = callsOf(m["toolCalls"]);
        const words = said(m["content"]);
        // One that only calls tools says nothing.
        if (words !== "" || calls.length === 0) list.push({ kind: "assistant", id, text: words, complete: true });
        list.push(...calls);
        break;
      }
      default: silent.push(id);
    }
  }
  return { messages: list.map((m) => withResult(m, results)), silent, results };
}

function withResult(m: Message, results: ReadonlyMap<string, string>): Message {
  return m.kind === "tool" && results.has(m.id) ? { ...m, result: results.get(m.id) ?? null } : m;
}

function callsOf(calls: unknown): Message[] {
  return (Array.isArray(calls) ? calls : []).flatMap((call): Message[] => {
    const id = isObject(call) ? text(call["id"]) : null;
    if (!isObject(call) || id === null) return [];
    const f = isObject(call["function"]) ? call["function"] : {};
    return [{ kind: "tool", id, name: text(f["name"]) ?? "", args: text(f["arguments"]) ?? "", result: null, complete: true }];
  });
}

/** The text of a message's content: itself, or that of its parts. What is neither is shown as JSON. */
export function said(content: unknown): string {
  if (typeof content === "string") return content;
  if (content === undefined || content === null) return "";
  if (!Array.isArray(content)) return JSON.stringify(content);
  return content.map((part) => (isObject(part) ? (text(part["text"]) ?? "") : "")).join("");
}

/** Puts those that are not there yet where they belong: before the next one that is. What is there stays. */
export function addMissing(list: readonly Message[], whole: readonly Message[]): readonly Message[] {
  const have = new Set(list.map(keyOf));
  if (whole.every((m) => have.has(keyOf(m)))) return list;
  const out = [...list];
  let at = out.length;
  for (const m of whole.toReversed()) {
    const key = keyOf(m);
    if (have.has(key)) at = out.findIndex((o) => keyOf(o) === key);
    else out.splice(at, 0, m);
    have.add(key);
  }
  return out;
}

/**
 * What a MESSAGES_SNAPSHOT makes of a list: what it lacks goes, what it has is replaced in its place, what is new goes behind.
 * Activity and reasoning stay where it has none at all, and errors always: they are no messages of AG-UI.
 */
export function replaced(list: readonly Message[], whole: readonly Message[]): readonly Message[] {
  const by = new Map(whole.map((m) => [keyOf(m), m]));
  const left = new Set<Message["kind"]>(["error"]);
  for (const kind of ["activity", "reasoning"] as const) if (!whole.some((m) => m.kind === kind)) left.add(kind);
  const out = list.flatMap((m) => {
    const now = by.get(keyOf(m));
    by.delete(keyOf(m));
    return now ? [keep(m, now)] : left.has(m.kind) ? [m] : [];
  });
  return [...out, ...by.values()];
}

/** The newer one, or the older one itself where they say the same: what has not changed keeps its identity. */
export function keep(older: Message, newer: Message): Message {
  return equal(older, newer) ? older : newer;
}

/** The newer list with the older one's messages wherever they say the same. */
export function keepAll(older: readonly Message[], newer: readonly Message[]): readonly Message[] {
  const by = new Map(older.map((m) => [keyOf(m), m]));
  const out = newer.map((m) => {
    const before = by.get(keyOf(m));
    return before ? keep(before, m) : m;
  });
  return out.length === older.length && out.every((m, i) => m === older[i]) ? older : out;
}
