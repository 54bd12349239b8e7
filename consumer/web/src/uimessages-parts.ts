// Text and reasoning. Each kind has ids of its own.

import type { Event } from "./types.js";
import { maxSeen, textOf } from "./uimessages-data.js";
import type { Tell } from "./uimessages.js";

export type Kind = "text" | "reasoning";

/** How many may be open at once; beyond that the oldest one ends. */
const maxOpen = 256;

export interface Parts {
  /** Takes the events of text and reasoning; false for any other. */
  take(event: Event): boolean;
  start(kind: Kind, id: string): void;
  /** Adds to a part; one that has not begun, or has ended, begins. */
  delta(kind: Kind, id: string, delta: unknown): void;
  end(kind: Kind, id: string): void;
  /** Ends all. */
  close(): void;
}

export function partsOf(send: Tell): Parts {
  let open: { readonly kind: Kind; readonly id: string }[] = []; // in the order in which they began
  const aside = new Set<string>(); // messages of somebody else: this one is the assistant's
  let thoughts = 0; // reasoning without an id of its own

  const isOpen = (kind: Kind, id: string): boolean => open.some((part) => part.kind === kind && part.id === id);

  const parts: Parts = {
    start(kind, id) {
      if (isOpen(kind, id)) return;
      const oldest = open[0];
      if (oldest && open.length === maxOpen) parts.end(oldest.kind, oldest.id);
      open.push({ kind, id });
      send({ type: `${kind}-start`, id });
    },
    delta(kind, id, delta) {
      if (typeof delta !== "string" || (kind === "text" && aside.has(id))) return;
      parts.start(kind, id);
      send({ type: `${kind}-delta`, id, delta });
    },
    end(kind, id) {
      if (!isOpen(kind, id)) return;
      open = open.filter((part) => part.kind !== kind || part.id !== id);
      send({ type: `${kind}-end`, id });
    },
    close() {
      for (const { kind, id } of [...open]) parts.end(kind, id);
    },
    take(event) {
      const id = textOf(event["messageId"]);
      const thought = (): string => `thinking-${thoughts}`;
      switch (event.type) {
        case "TEXT_MESSAGE_START": {
          const role = textOf(event["role"]);
          if (role !== "" && role !== "assistant") {
            if (aside.size < maxSeen) aside.add(id);
            return true;
          }
          aside.delete(id);
          parts.start("text", id);
          return true;
        }
        case "TEXT_MESSAGE_CONTENT":
          parts.delta("text", id, event["delta"]);
          return true;
        case "TEXT_MESSAGE_END":
          parts.end("text", id);
          return true;
        case "REASONING_MESSAGE_START":
          parts.start("reasoning", id);
          return true;
        case "REASONING_MESSAGE_CONTENT":
          parts.delta("reasoning", id, event["delta"]);
          return true;
        case "REASONING_MESSAGE_END":
          parts.end("reasoning", id);
          return true;
        case "THINKING_TEXT_MESSAGE_START":
          thoughts++;
          parts.start("reasoning", thought());
          return true;
        case "THINKING_TEXT_MESSAGE_CONTENT":
          parts.delta("reasoning", thought(), event["delta"]);
          return true;
        case "THINKING_TEXT_MESSAGE_END":
          parts.end("reasoning", thought());
          return true;
        default:
          return false;
      }
    },
  };
  return parts;
}
