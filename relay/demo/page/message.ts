// One message as it is shown.
import type { Message } from "../../../consumer/web/src/messages.js";
import { attribute, el, show, text } from "./dom.js";
import { fields, list, pretty, string } from "./json.js";
import { prose } from "./prose.js";
import { outcomeOf } from "./words.js";

export interface Shown {
  readonly node: HTMLElement;
  /** busy: its run is under way. */
  draw(message: Message, busy: boolean): void;
}

type Of<K extends Message["kind"]> = Extract<Message, { kind: K }>;

export function newMessage(message: Message): Shown {
  const node = el("article", { class: `message ${message.kind}`, "data-kind": message.kind, "data-id": message.id });
  const draw = drawers[message.kind](node) as Shown["draw"];
  return { node, draw };
}

/** How each kind is drawn into its node: what it is made of, and then what each change does. */
const drawers: { readonly [K in Message["kind"]]: (node: HTMLElement) => (message: Of<K>, busy: boolean) => void } = {
  user(node) {
    const words = said();
    node.append(who("You"), words);
    return (m) => text(words, m.text);
  },
  assistant(node) {
    const words = said();
    node.append(who("Agent"), words);
    return (m, busy) => {
      prose(words, m.text);
      growing(node, busy && !m.complete);
    };
  },
  reasoning(node) {
    const words = said();
    const title = el("summary");
    const details = el("details", { open: true }, title, words);
    node.append(details);
    let complete = false;
    return (m, busy) => {
      text(title, m.complete || !busy ? "Thought" : "Thinking");
      text(words, m.text);
      growing(node, busy && !m.complete);
      if (m.complete && !complete) details.open = false; // and is the reader's from then on
      complete = m.complete;
    };
  },
  tool(node) {
    const name = el("code", { class: "tool-name" });
    const state = el("span", { class: "tool-state" });
    const args = el("code", { class: "tool-args", "data-testid": "text" });
    const result = el("code", { class: "tool-result" });
    const question = el("p", {}, args);
    const answer = el("p", {}, el("span", { class: "tool-word" }, "gives"), " ", result);
    node.append(el("p", { class: "tool-head" }, el("span", { class: "tool-word" }, "Tool"), " ", name, " ", state), question, answer);
    return (m, busy) => {
      bounded(question, m.args, "What it is given");
      bounded(answer, m.result ?? "", "What it gives");
      text(name, m.name);
      text(args, m.complete ? pretty(m.args) : m.args);
      text(result, pretty(m.result ?? ""));
      show(answer, m.result !== null);
      text(state, m.result !== null ? "done" : busy ? "at work" : "broken off");
      growing(node, busy && m.result === null);
    };
  },
  activity(node) {
    const what = el("span", { class: "activity-title", "data-testid": "text" });
    const outcome = el("strong");
    node.append(what, " ", outcome);
    return (m) => {
      const request = string(m.content["requestId"]);
      const status = string(m.content["status"]) ?? "";
      text(what, string(m.content["title"]) ?? string(m.content["message"]) ?? m.type);
      text(outcome, request ? outcomeWords(m.content, status) : "");
      if (request) {
        attribute(node, "data-testid", "question");
        attribute(node, "data-request", request);
        attribute(node, "data-state", status);
      }
    };
  },
  error(node) {
    const words = said();
    node.append(who("Failed"), words);
    return (m) => text(words, m.code ? `${m.text} (${m.code})` : m.text);
  },
};

function said(): HTMLElement {
  return el("p", { class: "said", "data-testid": "text" });
}

/** Who speaks is told by looks, and by this to those who do not see them. */
function who(name: string): HTMLElement {
  return el("h2", { class: "who" }, name);
}

/** What is long scrolls by itself, with the keyboard too. */
function bounded(node: HTMLElement, words: string, what: string): void {
  const long = words.length > 1200;
  attribute(node, "class", long ? "long" : undefined);
  attribute(node, "tabindex", long ? "0" : undefined);
  attribute(node, "role", long ? "group" : undefined);
  attribute(node, "aria-label", long ? what : undefined);
}

/** What is not complete is not read out: its tokens would be, one by one. */
function growing(node: HTMLElement, yes: boolean): void {
  attribute(node, "aria-busy", yes ? "true" : undefined);
}

/** The answer that a question has got, in the words of its options or fields. */
function outcomeWords(question: Readonly<Record<string, unknown>>, status: string): string {
  const outcome = fields(question["outcome"]);
  const chosen = list(question["options"]).map(fields).find((o) => o["optionId"] === outcome["optionId"] && o["optionId"] !== undefined);
  const name = chosen && string(chosen["name"]);
  if (name) return name;
  const content = Object.entries(fields(outcome["content"])).map(([field, value]) => `${field}: ${String(value)}`);
  return content.length > 0 ? content.join(", ") : outcomeOf(status);
}
