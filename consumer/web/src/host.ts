// What a session's news come to: the state, and what is counted.
import type { EndFrame, Frame } from "./frames.js";
import { save } from "./seed.js";
import { tell } from "./tell.js";
import type { Change, End, Event, Metric, Options, Reason, State } from "./types.js";

/** Who is told what happens. */
export interface Host {
  /** An attempt's first frame: `again` after a break, with the attempts since. `ms` since the attempt or the break. */
  attached(again: number, ms: number): void;
  frame(f: Exclude<Frame, EndFrame>): void;
  over(f: EndFrame): void;
  /** There is nothing to watch now. */
  nothing(reason: Reason, ms: number): void;
  /** An attempt has failed; it was the `first` for this chat. */
  broke(reason: Reason, first: boolean, ms: number): void;
  gaveUp(reason: Reason, attempts: number, ms: number): void;
}

/** `set` is told what changes, `chats` which chat has a run that began or ended. */
export function hostOf(options: Options, chats: (chatId: string) => void, state: () => State, set: (patch: Partial<State>, change?: Change) => void): Host {
  const count = (metric: Metric) => tell(options.onMetric, metric);
  const tried = (outcome: "attached" | Reason, again: number, ms: number) => count({ type: again ? "resume" : "attach", outcome, attempts: again || 1, ms });
  return {
    attached(again, ms) {
      tried("attached", again, ms);
      if (state().status !== "live") set({ status: "synchronizing", reason: null });
    },
    frame(f) {
      const { chatId, runId, status } = state();
      if (f.type === "STREAM_EVENT") {
        const { event, seq } = f;
        (state().events as Event[]).push(event);
        set({ seq }, { type: "event", event, seq });
      } else if (f.type === "STREAM_SYNCED") {
        if (status !== "live") set({ status: "live" });
      } else {
        const { run_id, seq, events } = f;
        if (run_id === runId) count({ type: "reset", events: events.length });
        set({ runId: run_id, seq, events, end: null }, { type: "reset", events });
        if (run_id !== runId) chats(chatId!);
      }
    },
    over({ persisted, superseded, reason, next_run_id: next }) {
      const end: End = { persisted, superseded, reason, ...(next && { nextRunId: next }) };
      count({ type: "end", reason, persisted });
      const { chatId } = state();
      save(options, chatId!, null);
      set({ status: "ended", end, reason: null }, { type: "end", end });
      chats(chatId!);
    },
    nothing(reason, ms) {
      tried(reason, +(reason === "gone"), ms);
      save(options, state().chatId!, null);
      set({ status: state().end ? "ended" : "idle", reason });
    },
    broke(reason, first, ms) {
      if (first) tried(reason, 0, ms);
      const { status, runId, end } = state();
      if (runId !== null && !end) set({ status: "recovering", reason: null });
      else if (status === "connecting") set({ status: "idle", reason });
    },
    gaveUp(reason, attempts, ms) {
      count({ type: "give_up", reason, attempts, ms });
      set({ status: "failed", reason });
    },
  };
}
