// The events with their own start: they carry their ids from one to the next, and any event in between that is not about
// something else ends what they have begun.

import type { Event } from "./types.js";
import { textOf } from "./uimessages-data.js";
import type { Parts } from "./uimessages-parts.js";
import type { Tools } from "./uimessages-tools.js";

const kinds = new Set(["TEXT_MESSAGE_CHUNK", "REASONING_MESSAGE_CHUNK", "TOOL_CALL_CHUNK"]);

/** Events that leave open what chunks have begun. */
const beside = new Set([
  "RAW", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "REASONING_ENCRYPTED_VALUE", "SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_ERROR",
]);

export interface Chunked {
  /** Takes an event with its own start; false for any other. One that begins something needs an id. */
  take(event: Event): boolean;
  /** Ends what chunks have begun, unless the event goes on with it; null is the end of all. */
  end(event: Event | null): void;
}

export function chunkedOf(parts: Parts, tools: Tools): Chunked {
  let open: { readonly kind: string; readonly id: string } | null = null;

  const idOf = (event: Event): string => textOf(event[event.type === "TOOL_CALL_CHUNK" ? "toolCallId" : "messageId"]);

  function begin(event: Event, id: string): void {
    if (event.type === "TEXT_MESSAGE_CHUNK") parts.take({ ...event, type: "TEXT_MESSAGE_START" });
    else if (event.type === "REASONING_MESSAGE_CHUNK") parts.start("reasoning", id);
    else tools.start(id, textOf(event["toolCallName"]));
  }

  return {
    take(event) {
      if (!kinds.has(event.type)) return false;
      if (!open) {
        const id = idOf(event);
        if (id === "") return true;
        open = { kind: event.type, id };
        begin(event, id);
      }
      const { kind, id } = open;
      if (typeof event["delta"] !== "string") return true;
      if (kind === "TOOL_CALL_CHUNK") tools.args(id, event["delta"]);
      else parts.delta(kind === "TEXT_MESSAGE_CHUNK" ? "text" : "reasoning", id, event["delta"]);
      return true;
    },
    end(event) {
      if (!open || (event && beside.has(event.type))) return;
      const { kind, id } = open;
      if (event?.type === kind && (idOf(event) === "" || idOf(event) === id)) return;
      open = null;
      if (kind === "TOOL_CALL_CHUNK") tools.end(id);
      else parts.end(kind === "TEXT_MESSAGE_CHUNK" ? "text" : "reasoning", id);
    },
  };
}
