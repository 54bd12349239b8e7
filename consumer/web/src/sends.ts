// What a person sends, as it is shown before anything else shows it: at once, and once only; what fails is taken away again.
import { type Runs, run, shownOf, withInput } from "./runs.js";
import type { Input, Sent } from "./types.js";
import { keyOf } from "./whole.js";

type Send = (input: Input, kind: string) => Promise<Sent>;

export interface Sends {
  /** Shows a message as a run of its own while `send` sends it. */
  message(input: Input, kind: string, send: Send): Promise<Sent>;
  /** Shows it at its place in a run that is under way. Where it led to another one, it is that one's. */
  steering(runId: string, text: string, send: Send): Promise<Sent>;
}

/** For one chat that is open: what comes after another was opened changes nothing that is seen. */
export function sendsOf(runs: Runs): Sends {
  let count = 0;

  /** A message has made a run, which may be seen already. */
  const made = (runId: string, kind: string, input: Readonly<Record<string, unknown>>) => {
    const one = runs.find(runId);
    runs.put(one ? withInput(one, kind, input) : run(runId, "waiting", kind, input));
  };

  return {
    async message(input, kind, send) {
      const fields = typeof input === "string" ? { text: input } : input;
      const one = run(`sending-${++count}`, "sending", kind, fields);
      runs.put(one);
      try {
        const sent = await send(input, kind);
        runs.drop(one.runId);
        made(sent.runId, kind, fields);
        return sent;
      } catch (err) {
        runs.drop(one.runId);
        throw err;
      }
    },
    async steering(runId, text, send) {
      const to = runs.find(runId)!;
      const last = to.said.at(-1)?.message ?? shownOf(to).view.messages.at(-1);
      const one = { message: { kind: "user", id: `steer-${++count}-${runId}`, text }, after: last ? keyOf(last) : null } as const;
      const without = () => {
        const now = runs.find(runId);
        if (now) runs.put({ ...now, said: now.said.filter((s) => s !== one) });
      };
      runs.put({ ...to, said: [...to.said, one] });
      try {
        const sent = await send(text, "steer");
        if (sent.runId === runId) return sent;
        without();
        made(sent.runId, "steer", { text });
        return sent;
      } catch (err) {
        without();
        throw err;
      }
    },
  };
}
