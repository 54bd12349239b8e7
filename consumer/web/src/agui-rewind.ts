// What an agent's messages were before a run, for a replay that begins with the run's beginning.

import type { Message, State } from "@ag-ui/client";
import type { Event } from "./types.js";

/** What an agent had before a run said anything. */
export interface Before {
  readonly runId: string;
  readonly messages: readonly Message[];
  readonly state: State;
}

/** The messages that were there before the run, and those that have come since and are not of the run, whose events are given. */
export function rewound(before: readonly Message[], now: readonly Message[], events: readonly Event[]): Message[] {
  const made = new Set<unknown>(events.flatMap((event) => [event["messageId"], event["parentMessageId"], event["toolCallId"]]));
  const known = new Set(before.map((message) => message.id));
  return [...before, ...now.filter(({ id }) => !known.has(id) && !made.has(id))];
}
