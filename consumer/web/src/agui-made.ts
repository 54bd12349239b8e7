// Which messages an AG-UI client makes of a run's events.

import type { Event } from "./types.js";

/** The ids of the messages that the events make, or add to. */
export function madeBy(events: readonly Event[]): Set<string> {
  const ids = new Set<string>();
  for (const event of events) {
    for (const id of [event["messageId"], event["parentMessageId"], event["toolCallId"]]) {
      if (typeof id === "string") ids.add(id);
    }
  }
  return ids;
}
