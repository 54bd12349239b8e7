// The RunAgentInput that UI messages come to: the same one that a relay makes of what is posted to its /api/chat.
//
// Text and files of users, and text and system messages, stay what they are, under their ids. A tool call goes along with its result,
// and not without. What an agent has no use for, such as reasoning and data parts, is left out.

import type { UIMessage } from "ai";
import { fieldsOf, textOf } from "./uimessages-data.js";
import type { Fields } from "./uimessages-data.js";

interface Call {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
}

export interface Message {
  readonly id: string;
  readonly role: string;
  readonly content?: unknown;
  readonly toolCalls?: readonly Call[];
  readonly toolCallId?: string;
}

export function inputOf(chatId: string, messages: readonly UIMessage[], forwardedProps: Fields): Fields {
  return {
    threadId: chatId, runId: crypto.randomUUID(), state: {}, messages: messages.flatMap(messageOf), tools: [], context: [], forwardedProps,
    protocolVersion: "1.0",
  };
}

function messageOf({ id, role, parts }: UIMessage): readonly Message[] {
  const all = parts as readonly Fields[];
  if (role === "assistant") return said(id, all);
  return [{ id, role, content: role === "user" ? content(all) : texts(all) }];
}

function texts(parts: readonly Fields[]): string {
  return parts.filter((part) => part["type"] === "text").map((part) => textOf(part["text"])).join("\n");
}

/** What a user says: a string, or a list where there are files. */
function content(parts: readonly Fields[]): unknown {
  if (!parts.some((part) => part["type"] === "file")) return texts(parts);
  return parts.flatMap((part) => {
    if (part["type"] === "text") return [{ type: "text", text: textOf(part["text"]) }];
    return part["type"] === "file" ? [file(part)] : [];
  });
}

/** A file by its kind; one that lies in its URL lies in the message. */
function file(part: Fields): unknown {
  const mimeType = textOf(part["mediaType"]);
  const kind = mimeType.split("/")[0] ?? "";
  const url = textOf(part["url"]);
  const inside = /^data:[^,]*;base64,/.exec(url);
  const name = textOf(part["filename"]);
  return {
    type: ["image", "audio", "video"].includes(kind) ? kind : "document",
    source: inside ? { type: "data", value: url.slice(inside[0].length), mimeType } : { type: "url", value: url, mimeType },
    ...(name !== "" && { metadata: { filename: name } }),
  };
}

/** The messages that one of an assistant's comes to: its text and calls, the results, and again where text follows these. */
function said(id: string, parts: readonly Fields[]): Message[] {
  const all: Message[] = [];
  let words: string[] = [];
  let calls: Call[] = [];
  let results: Message[] = [];

  function flush(): void {
    if (words.length === 0 && calls.length === 0) return;
    all.push({
      id: all.length > 0 ? `${id}-${all.length}` : id, role: "assistant",
      ...(words.length > 0 && { content: words.join("\n") }), ...(calls.length > 0 && { toolCalls: calls }),
    }, ...results);
    [words, calls, results] = [[], [], []];
  }

  for (const part of parts) {
    if (part["type"] === "text") {
      if (calls.length > 0) flush();
      words.push(textOf(part["text"]));
      continue;
    }
    const made = called(part);
    if (!made) continue;
    calls.push(made.call);
    results.push(made.result);
  }
  flush();
  return all;
}

/** A tool call that has its result; null for any other part. */
function called(part: Fields): { readonly call: Call; readonly result: Message } | null {
  const type = textOf(part["type"]);
  const id = textOf(part["toolCallId"]);
  const isStatic = type.startsWith("tool-");
  if ((!isStatic && type !== "dynamic-tool") || id === "") return null;
  const result = resultOf(part);
  if (result === null) return null;
  const name = isStatic ? type.slice("tool-".length) : textOf(part["toolName"]);
  return {
    call: { id, type: "function", function: { name, arguments: JSON.stringify(part["input"] ?? {}) } },
    result: { id: `result-${id}`, role: "tool", content: result, toolCallId: id },
  };
}

function resultOf(part: Fields): string | null {
  switch (part["state"]) {
    case "output-available":
      return typeof part["output"] === "string" ? part["output"] : JSON.stringify(part["output"] ?? {});
    case "output-error":
      return textOf(part["errorText"]);
    case "output-denied":
      return "denied";
    default:
      return null;
  }
}

/** The answers to approvals that a message of an assistant's has. */
export function responses(message: UIMessage | undefined): readonly { readonly id: string; readonly approved: boolean }[] {
  if (message?.role !== "assistant") return [];
  return message.parts.flatMap((part) => {
    const approval = fieldsOf((part as unknown as Fields)["approval"]);
    if ((part as unknown as Fields)["state"] !== "approval-responded" || !approval) return [];
    return [{ id: textOf(approval["id"]), approved: approval["approved"] === true }];
  });
}
