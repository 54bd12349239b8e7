// What a session's news come to: the state, and what is counted.
import { save } from "./seed.js";
import type { Host } from "./session.js";
import type { Change, End, Event, Metric, Options, State } from "./types.js";

/** `set` is told what changes. */
export function hostOf(options: Options, state: () => State, set: (patch: Partial<State>, change?: Change) => void): Host {
  const count = (metric: Metric) => {
    try {
      options.onMetric?.(metric);
    } catch { /* counting must not break what is counted */ }
  };
  const chats = (id: string | null) => { if (id !== null) options.onChats?.(id); };
  return {
    attached(again, ms) {
      count({ type: again ? "resume" : "attach", outcome: "attached", attempts: again || 1, ms });
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
        if (run_id !== runId) chats(chatId);
      }
    },
    over({ persisted, superseded, reason, next_run_id: next }) {
      const end: End = { persisted, superseded, reason, ...(next && { nextRunId: next }) };
      count({ type: "end", reason, persisted });
      const { chatId } = state();
      save(options, chatId!, null);
      set({ status: "ended", end, reason: null }, { type: "end", end });
      chats(chatId);
    },
    nothing(reason, ms) {
      const gone = reason === "gone";
      count({ type: gone ? "resume" : "attach", outcome: reason, attempts: 1, ms });
      if (gone) save(options, state().chatId!, null);
      set({ status: state().end ? "ended" : "idle", reason });
    },
    broke(reason, first, ms) {
      if (first) count({ type: "attach", outcome: reason, attempts: 1, ms });
      const { status, runId, end } = state();
      if (runId !== null && !end) set({ status: "recovering" });
      else if (status === "connecting") set({ status: "idle", reason });
    },
    gaveUp(reason, attempts, ms) {
      count({ type: "give_up", reason, attempts, ms });
      set({ status: "failed", reason });
    },
  };
}
