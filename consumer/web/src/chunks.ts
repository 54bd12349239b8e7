// Chunks carry ids from one to the next: a chunk without an id goes on with the last one of its kind and subagent.
import { call, complete, start, write, type Draft, type Streamed } from "./draft.js";
import type { Event } from "./types.js";
import { text } from "./whole.js";

export function chunk(d: Draft, kind: Streamed, e: Event, idField: string): void {
  const lane = text(e["subagentRunId"]) ?? "";
  const id = text(e[idField]) ?? d.chunks.get(`${kind}/${lane}`) ?? (lane === "" ? d.chunks.get(kind) : undefined);
  if (id === undefined) return;
  const before = d.begun.get(lane);
  if (before?.kind !== kind || before.id !== id) {
    if (before) complete(d, before.kind, before.id);
    d.chunks = new Map([...d.chunks, [kind, id], [`${kind}/${lane}`, id]]);
    d.begun = new Map([...d.begun, [lane, { kind, id }]]);
    if (kind === "assistant") start(d, { ...e, messageId: id });
    else if (kind === "tool") call(d, id, text(e["toolCallName"]));
    else write(d, kind, id, "");
    complete(d, kind, id, false);
  }
  write(d, kind, id, e["delta"]);
}

/** Events that end what chunks have begun: of their own subagent, or all. */
const endsOwn = new Set([
  "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END",
  "TOOL_CALL_RESULT", "STATE_SNAPSHOT", "STATE_DELTA", "CUSTOM", "STEP_STARTED", "STEP_FINISHED", "REASONING_START",
  "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END", "REASONING_END", "SUBAGENT_FINISHED", "SUBAGENT_ERROR",
]);
const endsAll = new Set(["RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"]);

export function endChunks(d: Draft, e: Event): void {
  if (d.begun.size === 0) return;
  const own = text(e["subagentRunId"]) ?? "";
  for (const [lane, { kind, id }] of d.begun) {
    if (!endsAll.has(e.type) && !(endsOwn.has(e.type) && lane === own)) continue;
    complete(d, kind, id);
    d.begun = new Map([...d.begun].filter(([l]) => l !== lane));
  }
}
