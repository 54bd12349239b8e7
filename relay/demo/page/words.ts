// What the page says. The client gives codes; these are this application's words for them.
import type { End, Reason, Status } from "../../../consumer/web/src/types.js";

export const statusWords: Readonly<Record<Status, string>> = {
  idle: "idle",
  connecting: "connecting",
  synchronizing: "catching up",
  live: "live",
  recovering: "reconnecting and catching up",
  ended: "ended",
  failed: "not connected",
};

/** What is wrong, and what to do about it. null is not worth a word. */
export const reasonWords: Readonly<Record<Reason, string | null>> = {
  no_run: null,
  gone: "This answer broke off and is not kept any more. What was saved is shown.",
  unauthenticated: "The relay wants to know who you are. Paste a token into the field on the left; rejoin token --help says how to make one.",
  forbidden: "This token does not allow watching.",
  not_found: "There is no relay at this address.",
  refused: "What answers at this address does not answer as a relay does.",
  network: "The relay cannot be reached. What was received is kept, and nothing is lost at the other end.",
  timeout: "The relay does not answer in time. What was received is kept.",
  empty: "The relay answered without a word.",
  unavailable: "The relay cannot serve at the moment. What was received is kept.",
  too_many: "There is no room for another stream at the moment.",
  switched_off: "Watching is switched off at the moment. Sending goes on, and the history shows what was saved.",
  malformed: "The relay said something that cannot be understood. What was received before is kept.",
  too_large: "The relay sent something too large. What was received before is kept.",
  interrupted: "The stream broke again and again. What was received is kept.",
};

const endWords: Readonly<Record<string, string>> = {
  done: "the agent is done",
  error: "the agent failed",
  stopped: "it was stopped",
  superseded: "a newer message took its place",
  abandoned: "its producer died, and its lease ran out",
  save_failed: "saving failed",
  skipped: "the chat had moved on",
};

/** How a run ended. Only what is known to be saved is called saved. */
export function endOf(end: End): string {
  const why = endWords[end.reason] ?? end.reason;
  if (end.superseded) return "Replaced by a newer message · not saved";
  if (!end.persisted) return `Not saved: ${why}`;
  return end.reason === "done" ? "Saved" : `Saved as it is: ${why}`;
}

const outcomes: Readonly<Record<string, string>> = {
  selected: "Decided",
  accepted: "Filled in",
  declined: "Declined",
  cancelled: "Put away",
  answered: "Answered",
  expired: "Not asked any more",
};

export function outcomeOf(status: string): string {
  return outcomes[status] ?? status;
}
