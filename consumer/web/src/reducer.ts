// The reduction of AG-UI events: what a client makes of them, one after the other. Pure. It is lenient: a delta whose START
// was before a cursor makes its message, an id belongs to the event that carries it, and what is not known does nothing.
import { chunk, endChunks } from "./chunks.js";
import { call, complete, find, make, put, result, start, write, type Draft, type Held } from "./draft.js";
import type { Message, View } from "./messages.js";
import { patched, isObject } from "./patch.js";
import { asked } from "./questions.js";
import type { Event } from "./types.js";
import { addMissing, given, keyOf, replaced, said, text, type Given } from "./whole.js";

/** What there is before a run's first event. */
export function begin(runId = "", state: unknown = {}): Held {
  return {
    view: { messages: [], questions: [], state, terminal: null }, suffix: runId && `-${runId}`, made: 0, thought: null,
    chunks: new Map(), begun: new Map(), silent: new Set(), given: new Map(),
  };
}

/** After some more events. The list of messages is copied once, however many they are. */
export function advance(held: Held, events: Iterable<Event>): Held {
  const { view, ...rest } = held;
  const d: Draft = { ...rest, ...view, own: null };
  for (const e of events) step(d, e);
  const { messages, questions, state, terminal, own: _, ...next } = d;
  const same = messages === view.messages && questions === view.questions && state === view.state && terminal === view.terminal;
  return { ...next, view: same ? view : { messages, questions, state, terminal } };
}

/** With what the run was asked, a turn's input of either form, in front of what it says. A text becomes `user-<run_id>`. */
export function ask(held: Held, runId: string, input: Readonly<Record<string, unknown>>): Held {
  const words = text(input["text"]);
  const whole = given(input["messages"] ?? (words === null ? [] : [{ id: `user-${runId}`, role: "user", content: words }]));
  const have = new Map(held.view.messages.map((m) => [keyOf(m), m]));
  const came = whole.messages.filter((m) => !have.has(keyOf(m)));
  const messages = addMissing(whole.messages, held.view.messages).map((m) => have.get(keyOf(m)) ?? m);
  return {
    ...held, view: came.length > 0 ? { ...held.view, messages } : held.view, silent: new Set([...held.silent, ...whole.silent]),
    given: new Map([...held.given, ...came.map((m) => [keyOf(m), m] as const)]),
  };
}

function step(d: Draft, e: Event): void {
  endChunks(d, e);
  d.questions = asked(d.questions, e);
  switch (e.type) {
    case "RUN_STARTED": return started(d, e);
    case "RUN_FINISHED": d.terminal ??= outcome(e); return;
    case "RUN_ERROR": return failed(d, e);
    case "TEXT_MESSAGE_START": return start(d, e);
    case "TEXT_MESSAGE_CONTENT": return write(d, "assistant", text(e["messageId"]), e["delta"]);
    case "TEXT_MESSAGE_END": return complete(d, "assistant", text(e["messageId"]));
    case "TEXT_MESSAGE_CHUNK": return chunk(d, "assistant", e, "messageId");
    case "REASONING_MESSAGE_START": return write(d, "reasoning", text(e["messageId"]), "");
    case "REASONING_MESSAGE_CONTENT": return write(d, "reasoning", text(e["messageId"]), e["delta"]);
    case "REASONING_MESSAGE_END": return complete(d, "reasoning", text(e["messageId"]));
    case "REASONING_MESSAGE_CHUNK": return chunk(d, "reasoning", e, "messageId");
    case "THINKING_TEXT_MESSAGE_START": d.thought = make(d, "thought"); return write(d, "reasoning", d.thought, "");
    case "THINKING_TEXT_MESSAGE_CONTENT": return write(d, "reasoning", (d.thought ??= make(d, "thought")), e["delta"]);
    case "THINKING_TEXT_MESSAGE_END": complete(d, "reasoning", d.thought); d.thought = null; return;
    case "TOOL_CALL_START": return call(d, text(e["toolCallId"]), text(e["toolCallName"]));
    case "TOOL_CALL_ARGS": return write(d, "tool", text(e["toolCallId"]), e["delta"]);
    case "TOOL_CALL_END": return complete(d, "tool", text(e["toolCallId"]));
    case "TOOL_CALL_CHUNK": return chunk(d, "tool", e, "toolCallId");
    case "TOOL_CALL_RESULT": return result(d, text(e["toolCallId"]), said(e["content"]));
    case "STATE_SNAPSHOT": d.state = e["snapshot"] ?? d.state; return;
    case "STATE_DELTA": d.state = patched(d.state, e["delta"]); return;
    case "MESSAGES_SNAPSHOT": return snapshot(d, given(e["messages"]));
    case "ACTIVITY_SNAPSHOT": return activity(d, e);
    case "ACTIVITY_DELTA": return activityDelta(d, e);
  }
}

// The run as a whole.

/** A log may hold one AG-UI run after another: the terminal is that of the last one. Of two for one run the first counts. */
function started(d: Draft, e: Event): void {
  d.terminal = null;
  d.thought = null;
  const input = e["input"];
  if (!isObject(input)) return;
  if (isObject(input["state"])) d.state = input["state"];
  const whole = given(input["messages"]);
  d.messages = addMissing(d.messages, whole.messages);
  const list = new Set(d.messages);
  note(d, whole, whole.messages.filter((m) => list.has(m)).map((m) => [keyOf(m), m]));
}

function snapshot(d: Draft, whole: Given): void {
  d.messages = replaced(d.messages, whole.messages);
  note(d, whole, whole.messages.map((m) => [keyOf(m), null]));
}

function note(d: Draft, whole: Given, came: readonly (readonly [string, Message | null])[]): void {
  if (came.length > 0) d.given = new Map([...d.given, ...came]);
  if (whole.silent.length > 0) d.silent = new Set([...d.silent, ...whole.silent]);
  // Results whose call is not among them.
  for (const [id, content] of whole.results) {
    const m = d.messages[find(d, "tool", id)];
    if (m?.kind !== "tool" || m.result === null) result(d, id, content);
  }
}

function outcome(e: Event): View["terminal"] {
  const type = isObject(e["outcome"]) ? e["outcome"]["type"] : null;
  return type === "interrupt" ? "interrupted" : type === "cancelled" ? "cancelled" : "finished";
}

function failed(d: Draft, e: Event): void {
  d.terminal ??= "error";
  put(d, -1, { kind: "error", id: make(d, "error"), text: text(e["message"]) ?? "", code: text(e["code"]) });
}

// Activities.

function activity(d: Draft, e: Event): void {
  const id = text(e["messageId"]);
  if (id === null || !isObject(e["content"])) return;
  const at = find(d, "activity", id);
  if (at >= 0 && e["replace"] === false) return;
  put(d, at, { kind: "activity", id, type: text(e["activityType"]) ?? "", content: e["content"] });
}

function activityDelta(d: Draft, e: Event): void {
  const at = find(d, "activity", text(e["messageId"]) ?? "");
  const m = d.messages[at];
  if (m?.kind !== "activity") return;
  const content = patched(m.content, e["patch"]);
  if (content !== m.content && isObject(content)) put(d, at, { ...m, content });
}
