// One run of a connection as something that only grows: each event once, then how it came out.

import type { Connection } from "./connection.js";
import { RejoinError } from "./types.js";
import type { Change, End, Event, Reason, State } from "./types.js";
import { unseen } from "./unseen.js";

export interface Follower {
  /** Each event of the run, once and in order. */
  event(event: Event): void;
  /** The run is over; nothing follows. */
  end(end: End): void;
  /** It cannot be watched any further; the run itself may go on. Nothing follows. */
  fail(error: RejoinError): void;
}

/**
 * Tells follower of one run, from the run's beginning, until it is over or the function returned is called. What the
 * connection says of other runs before this one is left out; once this one has begun, another in its place is a failure.
 */
export function follow(connection: Connection, runId: string, follower: Follower): () => void {
  let held: readonly Event[] | null = null; // the connection's own array, all of it told; null before the run's first frame
  let over = false;

  const leave = connection.subscribe((state, change) => take(state, change));
  take(connection.state, null);
  return finish;

  function finish(): void {
    over = true;
    leave();
  }

  function take(state: State, change: Change | null): void {
    if (over) return;
    if (state.runId !== runId) {
      // What the connection says before it has tried to show this run is of no account.
      if (held) fail("gone");
      else if (change && lostIt(state)) fail(state.reason);
      return;
    }
    if (change?.type === "event" && held === state.events) follower.event(change.event);
    else if (held !== state.events && !catchUp(state.events)) return;
    if (over) return; // left while it was told
    if (state.end) {
      finish();
      follower.end(state.end);
    } else if (lostIt(state)) {
      fail(state.reason);
    }
  }

  function catchUp(events: readonly Event[]): boolean {
    const fresh = held ? unseen(held, events) : events;
    held = events;
    if (!fresh) {
      finish();
      follower.fail(new RejoinError("replaced", "what is known of the run does not begin with what was shown of it; load the chat again"));
      return false;
    }
    for (const event of [...fresh]) {
      if (over) return false;
      follower.event(event);
    }
    return true;
  }

  function fail(reason: Reason | null): void {
    finish();
    follower.fail(lost(reason ?? "interrupted"));
  }
}

/** Whether the connection does not look for a run any more. */
function lostIt(state: State): boolean {
  return state.status === "failed" || (state.status === "idle" && (state.reason === "no_run" || state.reason === "gone"));
}

/** The error that says why a run cannot be watched. */
export function lost(reason: Reason): RejoinError {
  return new RejoinError(reason, `the run cannot be watched any further: ${reason}`);
}
