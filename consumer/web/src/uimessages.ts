// What the events of a run are in the AI SDK's UI message stream, version 1: one assistant message, told in chunks. The twin of
// the relay's package uimessages; consumer/testdata/uimessages holds both to the same chunks. Pure: no clock and no I/O.
//
//   uimessages.ts            events in, chunks out; how a message begins, its steps, and how it ends
//   uimessages-parts.ts      text and reasoning
//   uimessages-chunked.ts    the events that carry their own start: TEXT_MESSAGE_CHUNK and its like
//   uimessages-tools.ts      tool calls and their results
//   uimessages-questions.ts  questions to people, as approvals where they have options
//   uimessages-data.ts       activities, state, custom events: data parts

import type { End, Event } from "./types.js";
import { chunkedOf } from "./uimessages-chunked.js";
import { dataOf, fieldsOf, textOf } from "./uimessages-data.js";
import { partsOf } from "./uimessages-parts.js";
import { questionsOf } from "./uimessages-questions.js";
import type { Questions } from "./uimessages-questions.js";
import { toolsOf } from "./uimessages-tools.js";

export interface Chunk {
  readonly type: string;
  readonly [field: string]: unknown;
}

export type Tell = (chunk: Chunk) => void;

export interface Mapper extends Pick<Questions, "approvals" | "outcome"> {
  /** Whether the client has been told how the message ends: it reads nothing more. */
  readonly over: boolean;
  event(event: Event): void;
  /** Closes what is open, tells the end, and finishes the message, aborts it, or makes it an error. */
  end(end: End): void;
  /** Closes what is open of a message that is told no further. */
  close(): void;
  /** Whether the input of a tool call is still coming: a message cannot be told in two there. */
  inputOpen(): boolean;
}

/**
 * Makes the chunks of one message of the events of one run. messageId is what the client shall know it by. With `settles` a tool call that
 * was decided about, and has no result when the run is over, is given one: a client that sends by itself would send it again and again.
 */
export function mapper(messageId: string, tell: Tell, settles = false): Mapper {
  let begun = false; // start was told
  let used = false; // something was, since the last start-step
  let over = false;
  let outcome = ""; // of the last RUN_FINISHED

  const send: Tell = (chunk) => {
    used = true;
    tell(chunk);
  };
  const parts = partsOf(send);
  const tools = toolsOf(send);
  const questions = questionsOf(send, tools);
  const chunked = chunkedOf(parts, tools);
  const data = dataOf(send);

  function begin(): void {
    if (begun) return;
    begun = true;
    tell({ type: "start", messageId });
    tell({ type: "start-step" });
  }

  /** Another step, unless this one is empty still. A client looks for a tool call whose input is open only in the step at hand. */
  function step(): void {
    if (!used || tools.inputOpen()) return;
    used = false;
    tell({ type: "finish-step" });
    tell({ type: "start-step" });
  }

  function close(): void {
    chunked.end(null);
    parts.close();
    tools.close();
  }

  function fail(why: string): void {
    close();
    over = true;
    tell({ type: "error", errorText: why || "the run failed" });
  }

  function finishReason(): string {
    if (outcome === "interrupt") return "other";
    return tools.waiting() ? "tool-calls" : "stop";
  }

  return {
    get over() {
      return over;
    },
    event(event) {
      if (over) return;
      const again = begun;
      begin();
      chunked.end(event);
      switch (event.type) {
        case "RUN_STARTED":
          if (again) step();
          outcome = "";
          return;
        case "RUN_FINISHED":
          outcome = textOf(event["outcome"]) || textOf(fieldsOf(event["outcome"])?.["type"]);
          return;
        case "RUN_ERROR":
          fail(textOf(event["message"]));
          return;
        case "STEP_STARTED":
          step();
          return;
        case "STEP_FINISHED":
        case "REASONING_START":
        case "REASONING_END":
        case "REASONING_ENCRYPTED_VALUE":
        case "THINKING_START":
        case "THINKING_END":
          return;
        case "CUSTOM":
          if (!questions.take(event)) data(event);
          return;
        default:
          if (!parts.take(event) && !chunked.take(event) && !tools.take(event)) data(event);
      }
    },
    end(end) {
      if (over) return;
      begin();
      close();
      if (settles) tools.settle();
      const { nextRunId, ...said } = end;
      send({ type: "data-rejoin-end", data: { ...said, ...(nextRunId !== undefined && { next_run_id: nextRunId }) }, transient: true });
      const why = failure(end);
      if (why) {
        fail(why);
        return;
      }
      over = true;
      tell({ type: "finish-step" });
      if (end.reason === "stopped") tell({ type: "abort", reason: "stopped" });
      else if (outcome === "cancelled") tell({ type: "abort", reason: "cancelled" });
      else tell({ type: "finish", finishReason: finishReason() });
    },
    close,
    inputOpen: tools.inputOpen,
    approvals: questions.approvals,
    outcome: questions.outcome,
  };
}

/** What a client is told of an end that it must not take for success; "" otherwise. */
function failure(end: End): string {
  if (end.superseded) return "a newer run took the chat";
  switch (end.reason) {
    case "done":
    case "stopped":
      return "";
    case "abandoned":
      return "the agent was lost before it finished";
    case "save_failed":
    case "skipped":
      return "the answer was not saved";
    default:
      return "the run failed";
  }
}
