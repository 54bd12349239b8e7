// What a run asks people: opened by `<name>.request` and by an interrupt, closed by `<name>.resolved`.
import type { Question } from "./messages.js";
import { isObject } from "./patch.js";
import type { Event } from "./types.js";
import { text } from "./whole.js";

/** What an interrupt's question is called. */
export const interrupt = "interrupt";

/** The questions after an event; the same list where it says nothing of them. */
export function asked(list: readonly Question[], e: Event): readonly Question[] {
  switch (e.type) {
    case "CUSTOM": return custom(list, text(e["name"]) ?? "", e["value"]);
    case "ACTIVITY_SNAPSHOT": return isObject(e["content"]) ? card(list, e["content"]) : list;
    case "RUN_FINISHED": return interrupts(e).reduce((l, value) => open(l, text(value["id"]), interrupt, value), list);
  }
  return list;
}

function custom(list: readonly Question[], name: string, value: unknown): readonly Question[] {
  if (!isObject(value)) return list;
  if (name.length > 8 && name.endsWith(".request")) return open(list, text(value["requestId"]), name.slice(0, -8), value);
  if (name.length > 9 && name.endsWith(".resolved")) return close(list, value, "answered");
  return list;
}

/** A question that is asked again is open again, whatever became of it. */
function open(list: readonly Question[], id: string | null, name: string, value: Readonly<Record<string, unknown>>): readonly Question[] {
  if (!id) return list;
  const one: Question = { id, name, status: "pending", value, outcome: null, reason: null };
  const at = list.findIndex((q) => q.id === id);
  return at < 0 ? [...list, one] : list.with(at, one);
}

/** A question's card may close it, and never opens one: only what `.request` asks can be answered. */
function card(list: readonly Question[], content: Readonly<Record<string, unknown>>): readonly Question[] {
  return content["status"] === "pending" ? list : close(list, content, null);
}

function close(list: readonly Question[], value: Readonly<Record<string, unknown>>, otherwise: string | null): readonly Question[] {
  const at = list.findIndex((q) => q.id === value["requestId"]);
  const q = list[at];
  const status = text(value["status"]) ?? otherwise;
  if (!q || status === null || q.status !== "pending") return list;
  return list.with(at, { ...q, status, outcome: isObject(value["outcome"]) ? value["outcome"] : null, reason: text(value["reason"]) });
}

/** What a RUN_FINISHED waits for. */
function interrupts(e: Event): readonly Readonly<Record<string, unknown>>[] {
  const outcome = e["outcome"];
  if (!isObject(outcome) || outcome["type"] !== interrupt || !Array.isArray(outcome["interrupts"])) return [];
  return outcome["interrupts"].filter(isObject);
}
