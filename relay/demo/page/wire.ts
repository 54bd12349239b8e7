// What the wire carries: every request of the connection, and every message of its streams, as they pass. A tab that shares another's
// stream is told by that one, so that its frames are shown as the connection tells them. A bounded number of lines is kept, and each is
// cut: this is to be looked at, and must not hold what the client has let go of.
import type { Change, Event, State } from "../../../consumer/web/src/types.js";

export interface Line {
  readonly at: number;
  readonly kind: "request" | "answer" | "frame" | "comment" | "retry" | "closed" | "failed" | "shared";
  readonly text: string;
  /** How many bytes, or characters, there are more than text shows. */
  readonly more: number;
}

export interface Wire {
  readonly fetch: typeof fetch;
  /** Listens to the connection, for what comes by no stream of this tab's. */
  readonly told: (state: State, change: Change) => void;
  /** The newest lines, the oldest first, and how many there were in all. */
  readonly lines: readonly Line[];
  readonly total: number;
  clear(): void;
}

export const most = 300;
const longest = 2000;

export function tapWire(onLine: () => void): Wire {
  let lines: Line[] = [];
  let total = 0;
  let streams = 0; // of this tab's that are open
  let shares = false; // the newest frame came by another's
  const note = (kind: Line["kind"], text: string, more = 0) => {
    lines.push({ at: Date.now(), kind, text: text.slice(0, longest), more: more + Math.max(0, text.length - longest) });
    if (lines.length > 2 * most) lines = lines.slice(-most);
    total++;
    onLine();
  };
  const tapped: typeof fetch = async (input, init) => {
    const what = `${init?.method ?? "GET"} ${pathOf(input)}`;
    note("request", typeof init?.body === "string" ? `${what} ${init.body}` : what);
    let answer: Response;
    try {
      answer = await fetch(input, init);
    } catch (e) {
      note("failed", `${what} ${e instanceof Error && e.name === "AbortError" ? "was given up" : "had no answer"}`);
      throw e;
    }
    if (!answer.body || !answer.headers.get("Content-Type")?.startsWith("text/event-stream")) {
      void noteAnswer(note, what, answer);
      return answer;
    }
    note("answer", `${answer.status} a stream of ${what}`);
    streams++;
    shares = false;
    let open = true;
    const over = () => setTimeout(() => { // its last frame is being told
      if (open) streams--;
      open = false;
    });
    init?.signal?.addEventListener("abort", over);
    const reader = sseLines(note);
    const passing = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, out) {
        reader(chunk);
        out.enqueue(chunk);
      },
      flush() {
        over();
        note("closed", `the stream of ${what} is over`);
      },
    });
    return new Response(answer.body.pipeThrough(passing), { status: answer.status, statusText: answer.statusText, headers: answer.headers });
  };
  const told = (state: State, change: Change) => {
    const frame = streams > 0 ? null : frameOf(state, change);
    if (frame === null) return;
    if (!shares) note("shared", "by the stream of another tab, which this one shares: a browser has six connections to a host over HTTP/1.1");
    shares = true;
    note("frame", ...frame);
  };
  return {
    fetch: tapped,
    told,
    get lines() { return lines.slice(-most); },
    get total() { return total; },
    clear() {
      lines = [];
      total = 0;
      onLine();
    },
  };
}

/** The frame that a change came by, cut as long ones are; null where it came by none. */
function frameOf({ runId: run_id, seq, status, end }: State, change: Change): [text: string, more: number] | null {
  const head = (type: string) => ({ type: `STREAM_${type}`, run_id, seq });
  if (change.type === "event") return [JSON.stringify({ ...head("EVENT"), event: change.event }), 0];
  if (change.type === "end") return [JSON.stringify({ ...head("END"), persisted: end?.persisted, superseded: end?.superseded, reason: end?.reason }), 0];
  if (change.type === "status") return status === "live" ? [JSON.stringify(head("SYNCED")), 0] : null;
  if (run_id === null || status === "connecting") return null; // what was held before anything had come
  const some: Event[] = [];
  for (let size = 0; some.length < change.events.length && size < longest; size += JSON.stringify(some.at(-1)).length) some.push(change.events[some.length]!);
  return [JSON.stringify({ ...head("SNAPSHOT"), events: some }), change.events.length - some.length];
}

type Note = (kind: Line["kind"], text: string, more?: number) => void;

/** Small answers are shown with what they say. */
async function noteAnswer(note: Note, what: string, answer: Response): Promise<void> {
  const words = `${answer.status} to ${what}`;
  const json = answer.headers.get("Content-Type")?.includes("json");
  note("answer", json ? `${words} ${(await answer.clone().text().catch(() => "")).trim()}` : words);
}

function pathOf(input: RequestInfo | URL): string {
  const url = new URL(input instanceof Request ? input.url : input, location.href);
  return url.pathname + url.search;
}

/** Takes a stream apart into what is to be shown: messages whole, and what stands between them. */
function sseLines(note: Note): (chunk: Uint8Array) => void {
  const decoder = new TextDecoder();
  let line = "";
  let data = "";
  let cut = 0;
  const end = () => {
    if (line.startsWith(":")) note("comment", line);
    else if (line.startsWith("retry:")) note("retry", line);
    else if (line.startsWith("data:")) data += line.slice(5).trimStart();
    else if (line === "" && data !== "") {
      note("frame", data, cut);
      data = "";
      cut = 0;
    }
    line = "";
  };
  return (chunk) => {
    const parts = decoder.decode(chunk, { stream: true }).split("\n");
    parts.forEach((part, i) => {
      if (i > 0) end();
      const room = Math.max(0, longest - line.length);
      line += part.slice(0, room);
      cut += Math.max(0, part.length - room);
    });
  };
}
