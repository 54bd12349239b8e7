// What has no part of its own. Activities and custom events are data parts, which a newer one of the same id replaces; everything else
// is told in passing, for who listens, and is no part of the message.

import type { Event } from "./types.js";
import type { Tell } from "./uimessages.js";

/** Of how many activities, and messages of others, it is known that they were shown. */
export const maxSeen = 4096;

export type Fields = Readonly<Record<string, unknown>>;

/** The members of an object; null for any other value. */
export function fieldsOf(value: unknown): Fields | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}

/** A string; "" for any other value. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function dataOf(send: Tell): (event: Event) => void {
  const seen = new Set<string>();

  const pass = (type: string, data: unknown): void => send({ type, data: data ?? null, transient: true });

  function activity(event: Event): void {
    const id = textOf(event["messageId"]);
    if (event["replace"] === false && seen.has(id)) return;
    if (seen.size < maxSeen) seen.add(id);
    send({ type: `data-${textOf(event["activityType"])}`, id, data: event["content"] ?? null });
  }

  function custom(event: Event): void {
    const id = textOf(fieldsOf(event["value"])?.["id"]);
    send({ type: `data-${textOf(event["name"])}`, ...(id !== "" && { id }), data: event["value"] ?? null });
  }

  return (event) => {
    switch (event.type) {
      case "CUSTOM":
        return custom(event);
      case "ACTIVITY_SNAPSHOT":
        return activity(event);
      case "ACTIVITY_DELTA":
        return pass("data-activity-delta", event);
      case "STATE_SNAPSHOT":
        return pass("data-state", event["snapshot"]);
      case "STATE_DELTA":
        return pass("data-state-delta", event["delta"]);
      case "MESSAGES_SNAPSHOT":
        return pass("data-messages", event["messages"]);
      case "RAW":
        return pass("data-raw", event["event"]);
      default:
        return pass("data-event", event);
    }
  };
}
