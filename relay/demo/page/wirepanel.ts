// The panel that shows the wire. While it is closed it costs nothing.
import { el, text } from "./dom.js";
import { most, type Line, type Wire } from "./wire.js";

export interface WirePanel {
  draw(): void;
}

export function wirePanel(target: HTMLElement, counter: HTMLElement, isOpen: () => boolean, wire: Wire): WirePanel {
  const shown = new Map<Line, HTMLElement>();
  return {
    draw() {
      text(counter, String(wire.total));
      if (!isOpen()) return;
      const lines = wire.lines;
      const first = lines[0];
      for (const [line, node] of shown) {
        if (line === first) break; // a Map keeps the order in which they came
        node.remove();
        shown.delete(line);
      }
      const atEnd = target.scrollHeight - target.scrollTop - target.clientHeight < 40;
      const fresh = lines.slice(firstNew(lines, shown));
      if (fresh.length === 0) return;
      const nodes = fresh.map((line) => {
        const node = newLine(line);
        shown.set(line, node);
        return node;
      });
      target.append(...nodes);
      if (atEnd) target.scrollTop = target.scrollHeight;
    },
  };
}

/** Where the lines begin that are not shown yet; those that are come before them. */
function firstNew(lines: readonly Line[], shown: ReadonlyMap<Line, HTMLElement>): number {
  let i = lines.length;
  while (i > 0 && lines.length - i <= most && !shown.has(lines[i - 1]!)) i--;
  return i;
}

const marks: Readonly<Record<Line["kind"], readonly [string, string]>> = {
  request: ["→", "Asked"],
  answer: ["←", "Answered"],
  frame: ["↓", "Frame"],
  comment: ["·", "Comment, which keeps the connection alive"],
  retry: ["⟲", "When to come back should it break"],
  closed: ["■", "Closed"],
  shared: ["⇄", "Shared"],
  failed: ["×", "Failed"],
};

function newLine(line: Line): HTMLElement {
  const [mark, meaning] = marks[line.kind];
  const { label, seq, about } = explain(line);
  const type = meanings[label] ? [el("span", { class: "label", title: meanings[label] }, el("span", { class: "prefix" }, "STREAM_"), label.slice(7)), " "] : [];
  const number = seq ? [el("span", { class: "seq" }, seq), " "] : [];
  const summary = el("summary", {}, el("span", { class: "mark", title: meaning, "aria-hidden": "true" }, mark), el("span", { class: "hidden" }, `${meaning}: `),
    ...type, ...number, el("code", {}, about));
  const details = el("details", {}, summary);
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(el("code", { class: "raw" }, line.text + (line.more > 0 ? ` … ${line.more.toLocaleString("en")} more` : "")));
  });
  return el("li", { class: `line ${line.kind}`, "data-frame": label || undefined }, details);
}

const meanings: Readonly<Record<string, string>> = {
  STREAM_SNAPSHOT: "Takes the place of all that was held of the run",
  STREAM_EVENT: "One event of the agent, by its number, byte for byte",
  STREAM_SYNCED: "From here on it is live",
  STREAM_END: "The run is over; nothing else says so",
  STREAM_IDLE: "A chat of a shared stream has nothing to watch at the moment",
};

interface Explained {
  readonly label: string;
  readonly seq: string;
  readonly about: string;
}

/** A frame in one line: its type, its number, and what it carries. */
function explain(line: Line): Explained {
  const label = line.kind === "frame" ? /^\{"type":"(STREAM_[A-Z]+)"/.exec(line.text)?.[1] ?? "" : "";
  const seq = label ? /"seq":(\d+)/.exec(line.text)?.[1] ?? "" : "";
  let about = line.text;
  if (label) about = about.replace(/^\{"type":"STREAM_[A-Z]+",?/, "").replace(/^"run_id":"[^"]*",?/, "").replace(/^"seq":\d+,?/, "").replace(/\}$/, "");
  if (label === "STREAM_EVENT") about = about.replace(/^"event":\{"type":"(\w+)",?/, "$1 ").replace(/\}$/, "").replace(/"(messageId|threadId|runId|toolCallId)":"[^"]*",?/g, "").replace(/^(\w+) "delta":/, "$1 ");
  return { label, seq, about: about.slice(0, 240) };
}
