// Chunks as a ReadableStream that loses nothing when it fails: what was told is read first.

import type { Chunk } from "./uimessages.js";

export interface Out {
  readonly stream: ReadableStream<Chunk>;
  push(chunk: Chunk): void;
  /** Ends it, as failed where there is an error, once all that was pushed is read. */
  end(error?: unknown): void;
}

/** Makes a stream. `cancelled` is told that nobody reads any more. */
export function out(cancelled: () => void): Out {
  let queue: Chunk[] = [];
  let ended: { readonly error: unknown } | null = null;
  let wake: (() => void) | null = null;

  const stream = new ReadableStream<Chunk>({
    async pull(controller) {
      if (queue.length === 0 && !ended) await new Promise<void>((resolve) => { wake = resolve; });
      const some = queue;
      queue = [];
      for (const chunk of some) controller.enqueue(chunk);
      if (some.length > 0 || !ended) return;
      if (ended.error === undefined) controller.close();
      else controller.error(ended.error);
    },
    cancel() {
      ended ??= { error: undefined };
      cancelled();
    },
  }, { highWaterMark: 0 });

  function change(): void {
    wake?.();
    wake = null;
  }

  return {
    stream,
    push(chunk) {
      if (ended) return;
      queue.push(chunk);
      change();
    },
    end(error) {
      ended ??= { error };
      change();
    },
  };
}
