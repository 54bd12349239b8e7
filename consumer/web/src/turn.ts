// A connection that is used for one run: sending it, finding it, stopping it.

import type { Connection } from "./connection.js";
import { lost } from "./follow.js";
import { RejoinError } from "./types.js";
import type { Attach, Input, SendOptions } from "./types.js";

/**
 * Sends a turn, once, and resolves with its run, which the connection is then about to show. The chat is looked at first, so that a
 * run that is there already is not taken for the turn's where the acknowledgement is lost. Nothing is sent once `wanted` says no.
 */
export async function sendTurn(connection: Connection, chatId: string, input: Input, options: SendOptions, wanted: () => boolean): Promise<string> {
  await connection.open(chatId, { follow: false });
  if (!wanted()) throw aborted();
  const { runId } = await connection.send(input, options);
  const shown = connection.state;
  if (shown.runId !== null && shown.runId !== runId && !shown.end) void pursue(connection, chatId, runId); // it waits behind that one
  return runId;
}

/** The chat's run that is under way, or the one that is named; null where there is none. Throws where that could not be found out. */
export async function attach(connection: Connection, chatId: string, runId?: string): Promise<string | null> {
  const found = await connection.open(chatId, { follow: false, ...(runId !== undefined && { runId }) });
  if (!found.attached && found.reason !== "no_run" && found.reason !== "gone") throw lost(found.reason);
  return found.attached ? connection.state.runId : null;
}

/** Stops the run as soon as the connection shows it; no other run is touched. */
export async function stopRun(connection: Connection, runId: string): Promise<void> {
  await new Promise<void>((resolve) => {
    const leave = connection.subscribe(({ runId: shown }) => {
      if (shown === runId) done();
    });
    const done = (): void => {
      leave();
      resolve();
    };
    if (connection.state.runId === runId) done();
  });
  await connection.stop("aborted");
}

/** What a run is ended with for whoever has aborted it. */
export function aborted(): DOMException {
  return new DOMException("the run was aborted", "AbortError");
}

/** Watches a run that is known to be there: unlike a chat that may have none, it is worth more than one attempt. */
async function pursue(connection: Connection, chatId: string, runId: string): Promise<Attach> {
  const found = await connection.open(chatId, { runId, follow: false });
  return found.attached || found.reason === "interrupted" ? found : connection.retry();
}

/** A request to a connection that has to be opened for it first. */
export function notShown(): RejoinError {
  return new RejoinError("no_run", "no run is shown that could have asked; name the run");
}
