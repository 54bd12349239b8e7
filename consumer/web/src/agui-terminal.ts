// How a run's end is told to an AG-UI client, which knows no other end than RUN_FINISHED and RUN_ERROR and
// takes a completed stream for success.

import type { End, Event } from "./types.js";

export interface Terminal {
  /** Passes an event on, but keeps a RUN_FINISHED or RUN_ERROR back: only the run's end says what became of it. */
  event(event: Event): void;
  /**
   * Tells the terminal that was kept back, or a RUN_ERROR in its place where the run did not come to what it says.
   * Where the producer finished without a terminal, nothing.
   */
  end(end: End): void;
  /** Whether the producer has told a terminal of its own, and nothing of another run since. */
  readonly said: boolean;
}

/** What producers say after their terminal, such as the closing of a question, comes before it: clients reject it behind. */
export function terminal(tell: (event: Event) => void): Terminal {
  let kept: Event | null = null;
  return {
    get said() {
      return kept !== null;
    },
    event(event) {
      if (event.type === "RUN_FINISHED" || event.type === "RUN_ERROR") {
        if (kept?.type !== "RUN_ERROR") kept = event;
        return;
      }
      if (event.type === "RUN_STARTED" && kept) {
        const before = kept;
        kept = null;
        tell(before);
      }
      tell(event);
    },
    end(end) {
      const last = kept?.type === "RUN_ERROR" ? kept : (failure(end, kept) ?? kept);
      kept = null;
      if (last) tell(last);
    },
  };
}

/** Whether the run has ended to ask. */
export function isInterrupt(event: Event): boolean {
  const outcome = event["outcome"];
  return event.type === "RUN_FINISHED" && typeof outcome === "object" && outcome !== null && "type" in outcome && outcome.type === "interrupt";
}

function failure(end: End, said: Event | null): Event | null {
  if (end.superseded) return error("superseded", "a newer run took the chat");
  switch (end.reason) {
    case "done":
      return null;
    case "stopped":
      return said ? null : error("stopped", "the run was stopped");
    case "abandoned":
      return error("abandoned", "the agent was lost before it finished");
    case "save_failed":
    case "skipped":
      return error(end.reason, "the answer was not saved");
    default:
      return error("error", "the run failed");
  }
}

function error(code: string, message: string): Event {
  return { type: "RUN_ERROR", message, code };
}
