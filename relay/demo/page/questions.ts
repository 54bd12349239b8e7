// What the agent asks, as cards: a choice of options, a form, or free text.
import type { Question } from "../../../consumer/web/src/messages.js";
import { attribute, el, text } from "./dom.js";
import { schemaForm } from "./form.js";
import { fields, list, string, type Fields } from "./json.js";

/** Sends an answer. It resolves to why it was not taken, null when it was. */
export type Answer = (requestId: string, outcome: Fields) => Promise<string | null>;

export interface Questions {
  draw(questions: readonly Question[]): void;
}

export function questions(target: HTMLElement, answer: Answer): Questions {
  const cards = new Map<string, Card>();
  return {
    draw(open) {
      for (const q of open) {
        if (cards.has(q.id)) continue;
        const card = newCard(q, answer);
        cards.set(q.id, card);
        target.append(card.node);
      }
      for (const [id, card] of cards) {
        if (open.some((q) => q.id === id)) continue;
        const here = card.answered() || card.node.contains(document.activeElement);
        card.node.remove();
        cards.delete(id);
        if (here && document.activeElement === document.body) document.getElementById("composer")?.focus(); // who answered goes on writing
      }
    },
  };
}

interface Card {
  readonly node: HTMLElement;
  /** Whether it was answered in this tab. */
  answered(): boolean;
}

let count = 0;

function newCard(q: Question, answer: Answer): Card {
  const id = `question-${++count}`;
  const title = el("h2", { id }, string(q.value["title"]) ?? string(q.value["message"]) ?? "The agent asks");
  const about = el("p", { class: "about" }, string(q.value["title"]) ? string(q.value["message"]) ?? "" : "");
  const trouble = el("p", { class: "trouble", role: "alert" });
  const fieldset = el("fieldset", { class: "answers", "aria-labelledby": id });
  const node = el("section", { class: "question", "aria-labelledby": id, "data-testid": "question", "data-request": q.id, "data-state": "pending" },
    el("p", { class: "asks" }, "The agent asks"), title, about, fieldset, trouble);
  let answered = false;
  const send = async (outcome: Fields) => {
    answered = true;
    fieldset.disabled = true; // one answer, however often somebody clicks
    attribute(node, "data-state", "sending");
    text(trouble, "");
    const why = await answer(q.id, outcome);
    if (why === null) return; // its events close it
    fieldset.disabled = false;
    attribute(node, "data-state", "pending");
    text(trouble, why);
  };
  fieldset.append(...parts(q, (outcome) => void send(outcome)));
  return { node, answered: () => answered };
}

/** What a question is answered with. */
function parts(q: Question, send: (outcome: Fields) => void): Node[] {
  const options = list(q.value["options"]).map(fields).filter((o) => string(o["optionId"]));
  if (options.length > 0) {
    return options.map((o, i) => {
      const kind = string(o["kind"]) ?? "";
      const look = kind.startsWith("reject") ? "button quiet" : i === 0 ? "button strong" : "button";
      const button = el("button", { type: "button", class: look }, string(o["name"]) ?? String(o["optionId"]));
      button.addEventListener("click", () => send({ outcome: "selected", optionId: o["optionId"] }));
      return button;
    });
  }
  const schema = q.value["requestedSchema"] ?? q.value["responseSchema"];
  if (q.value["requestedSchema"]) {
    return [schemaForm(fields(schema), (content) => send({ action: "accept", content }), () => send({ action: "decline" }))];
  }
  if (schema) return [schemaForm(fields(schema), (content) => send(content), null)];
  return [schemaForm({ properties: { text: { type: "string", title: "Your answer" } }, required: ["text"] }, (content) => send(content), null)];
}
