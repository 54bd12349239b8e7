// What a client has applied: its cursor, and how far it has ever been. Pure: frames go in, verdicts come out. The rules are
// those of the Go client, and both play the vectors in consumer/testdata/frames.
import { type Frame, Malformed } from "./frames.js";

/** How many runs are remembered: longer than any circle of runs that a confused relay could send a client through. */
const maxMarks = 64;

/** What a frame is: known already, new to the application, or, besides, further than the client ever was. */
export type Verdict = "old" | "new" | "further";

export interface Position {
  /** The last seq applied, and of which run; null before any. */
  cursor(): { readonly runId: string; readonly seq: number } | null;
  start(runId: string, seq: number): void;
  /** Moves the cursor over a frame. Throws Malformed for a gap. */
  apply(f: Frame): Verdict;
  /** Forgets the cursor. A run that was superseded is not taken again. */
  leave(superseded: boolean): void;
}

export function position(): Position {
  let cursor: { runId: string; seq: number } | null = null;
  const furthest = new Map<string, number>(); // seq of each run; Infinity where it is not taken again

  const move = (runId: string, seq: number): Verdict => {
    cursor = { runId, seq };
    const was = furthest.get(runId) ?? -1;
    if (was < 0 && furthest.size >= maxMarks) furthest.delete(furthest.keys().next().value!);
    if (seq <= was) return "new";
    furthest.set(runId, seq);
    return "further";
  };

  return {
    cursor: () => cursor,
    start: move,
    apply(f) {
      const { type, run_id: runId, seq } = f;
      if (type === "STREAM_SNAPSHOT") {
        if (furthest.get(runId) === Infinity) throw new Malformed();
        return move(runId, seq);
      }
      if (cursor?.runId === runId) {
        const next = seq - cursor.seq;
        if (type === "STREAM_EVENT") {
          if (next < 1) return "old";
          if (next === 1) return move(runId, seq);
        } else if (!next) {
          return type === "STREAM_END" ? "further" : "new";
        }
      }
      throw new Malformed(); // a gap, or another run
    },
    leave(superseded) {
      if (cursor && superseded) furthest.set(cursor.runId, Infinity);
      cursor = null;
    },
  };
}
