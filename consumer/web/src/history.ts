// The history of one chat that is open: loaded once at a time, and dropped where it comes too late.
import type { Connection } from "./connection.js";
import { RejoinError, type Turn } from "./types.js";

export interface History {
  /** Loads the newest turns. What has ended when this is called, and is saved, is in what comes. */
  load(limit: number): void;
  /** Nothing that comes later is taken. */
  close(): void;
  /** Whether it was loaded at least once. */
  readonly loaded: boolean;
  /** Why the last attempt failed. */
  readonly error: string | null;
}

/**
 * `before` is called as a request is made, and what it returns is handed on with what comes. `changed` is called after each attempt
 * that no other follows.
 */
export function historyOf<T>(connection: Connection, before: () => T, take: (turns: readonly Turn[], was: T) => void, changed: () => void): History {
  let running = false;
  let again = false; // something has ended since the request was made
  let closed = false;
  let loaded = false;
  let error: string | null = null;

  const once = async (limit: number) => {
    const was = before();
    try {
      const turns = await connection.history(limit);
      if (closed) return;
      error = null;
      loaded = true;
      take(turns, was);
    } catch (err) {
      // A relay without the built-in saver has no such thing as a history.
      const none = err instanceof RejoinError && err.status === 404;
      error = none ? null : err instanceof Error ? err.message : String(err);
    }
  };

  const load = async (limit: number) => {
    if (running) {
      again = true;
      return;
    }
    running = true;
    do {
      again = false;
      await once(limit);
    } while (again && !closed);
    running = false;
    if (!closed) changed();
  };

  return {
    load: (limit) => void load(limit),
    close: () => { closed = true; },
    get loaded() { return loaded; },
    get error() { return error; },
  };
}
