// What is new in a snapshot. Consumers that can only be added to (an AG-UI client, a UI message
// stream) cannot be told to forget what they have, so a snapshot that comes in mid-stream gives them
// what they lack of it, and nothing twice.

import type { Event } from "./types.js";

/** The events whose neighbours a relay may merge into one by joining their deltas. */
const mergeable = new Set(["TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "THINKING_TEXT_MESSAGE_CONTENT", "TOOL_CALL_ARGS"]);

/** Neighbours of one kind, or an event that stands alone, whose delta is "". */
interface Unit {
  readonly first: Event;
  readonly key: string;
  delta: string;
}

/**
 * The events that follow `held` in `snapshot`, both being folds of one run from its beginning; null where
 * `snapshot` does not begin with what is held. Where the two differ within merged deltas, the first event is the rest.
 */
export function unseen(held: readonly Event[], snapshot: readonly Event[]): Event[] | null {
  const had = units(held);
  const all = units(snapshot);
  if (had.length > all.length) return null;
  const rest: Event[] = [];
  for (const [i, unit] of all.entries()) {
    const seen = had[i];
    if (!seen) {
      rest.push(whole(unit));
      continue;
    }
    const last = i === had.length - 1;
    if (seen.key !== unit.key || !(last ? unit.delta.startsWith(seen.delta) : unit.delta === seen.delta)) return null;
    if (unit.delta.length > seen.delta.length) rest.push({ ...unit.first, delta: unit.delta.slice(seen.delta.length) });
  }
  return rest;
}

function units(events: readonly Event[]): Unit[] {
  const out: Unit[] = [];
  for (const event of events) {
    const { delta, timestamp: _, ...others } = event;
    if (!mergeable.has(event.type) || typeof delta !== "string") {
      out.push({ first: event, key: JSON.stringify(event), delta: "" });
      continue;
    }
    const key = JSON.stringify(others);
    const before = out.at(-1);
    if (before?.key === key) before.delta += delta;
    else out.push({ first: event, key, delta });
  }
  return out;
}

function whole(unit: Unit): Event {
  return typeof unit.first["delta"] === "string" && mergeable.has(unit.first.type) ? { ...unit.first, delta: unit.delta } : unit.first;
}
