// Questions to people: as data, and as approvals where they have options. A client knows approvals only of tool calls: that of the
// question if it still waits, else one that stands for the question.

import type { Event } from "./types.js";
import { fieldsOf, textOf } from "./uimessages-data.js";
import type { Fields } from "./uimessages-data.js";
import type { Tools } from "./uimessages-tools.js";
import type { Tell } from "./uimessages.js";

const maxQuestions = 64; // open at once
const maxId = 256;
const maxValue = 16 << 10; // of what is kept of a question

interface Question {
  readonly name: string;
  readonly part: string; // id of its data part
  readonly value: Fields | null; // null where it is too large to be kept
  readonly options: readonly Option[];
  tool: string; // id of the tool call that waits for it; "" where it is no approval
  own: boolean; // that tool call stands for the question itself
}

/** Something to choose in answer to a question. */
interface Option {
  readonly id: string;
  /** Whether it allows what is asked: by its kind where it has one, else by its id. */
  readonly allows: boolean;
}

export interface Questions {
  /** Takes a CUSTOM event that asks, or closes what was asked; false for any other. */
  take(event: Event): boolean;
  /** The ids of approvals that wait for an answer. */
  approvals(): readonly string[];
  /** The outcome that says yes or no to an approval that waits; null for any other. */
  outcome(id: string, approved: boolean): Fields | null;
}

export function questionsOf(send: Tell, tools: Tools): Questions {
  const open = new Map<string, Question>();

  function ask(name: string, id: string, value: Fields): boolean {
    if (open.has(id) || open.size === maxQuestions) return false;
    const options = optionsOf(value);
    const kept = JSON.stringify(value).length <= maxValue ? value : null;
    const question: Question = { name, part: textOf(value["messageId"]) || id, value: kept, options, tool: "", own: false };
    open.set(id, question);
    send({ type: `data-${name}`, id: question.part, data: value });
    if (options.length === 0) return true;
    question.tool = textOf(value["toolCallId"]);
    const tool = tools.get(question.tool);
    if (tool && !tool.input && !tool.output && !tool.asked) {
      tool.asked = true;
    } else {
      question.tool = id;
      question.own = true;
      tools.standFor(id, name, value);
    }
    send({ type: "tool-approval-request", approvalId: id, toolCallId: question.tool });
    return true;
  }

  function resolve(question: Question, id: string, value: Fields): void {
    open.delete(id);
    send({ type: `data-${question.name}`, id: question.part, data: { ...question.value, ...value } });
    const tool = tools.get(question.tool);
    if (question.tool === "" || !tool || tool.output) return;
    tool.asked = false;
    const outcome = fieldsOf(value["outcome"]);
    const chosen = textOf(outcome?.["outcome"]) === "selected" ? textOf(outcome?.["optionId"]) : "";
    const approved = chosen !== "" && (question.options.findLast(({ id: of }) => of === chosen)?.allows ?? allows(chosen));
    tool.decided = approved;
    send({ type: "tool-approval-response", approvalId: id, approved });
    if (!question.own) return;
    tool.output = true;
    if (approved) tools.output(question.tool, value["outcome"]);
    else if (textOf(value["status"]) === "selected") send({ type: "tool-output-denied", toolCallId: question.tool });
    else tools.outputError(question.tool, textOf(value["status"]) || "closed");
  }

  return {
    approvals: () => [...open].filter(([, { tool }]) => tool !== "").map(([id]) => id),
    outcome(id, approved) {
      const question = open.get(id);
      if (!question?.tool) return null;
      const option = question.options.find((one) => one.id !== "" && one.allows === approved);
      return option ? { outcome: "selected", optionId: option.id } : { outcome: "cancelled" };
    },
    take(event) {
      const name = textOf(event["name"]);
      const value = fieldsOf(event["value"]);
      const id = textOf(value?.["requestId"]);
      if (!value || id === "" || id.length > maxId) return false;
      const of = name.endsWith(".request") ? name.slice(0, -".request".length) : "";
      if (of !== "" && ask(of, id, value)) return true;
      const question = open.get(id);
      if (!question || name !== `${question.name}.resolved`) return false;
      resolve(question, id, value);
      return true;
    },
  };
}

function optionsOf(value: Fields): readonly Option[] {
  const options = value["options"];
  return Array.isArray(options) ? options.map(fieldsOf).map((option) => {
    const id = textOf(option?.["optionId"]);
    return { id, allows: allows(textOf(option?.["kind"]) || id) };
  }) : [];
}

function allows(says: string): boolean {
  return /^(allow|approve|accept|yes|ok)/i.test(says);
}
