// Tool calls. All of them are dynamic ones: nobody has told a relay which tools a client was built with.

import type { Event } from "./types.js";
import { textOf } from "./uimessages-data.js";
import type { Tell } from "./uimessages.js";

const maxTools = 4096; // calls whose results are still known to be theirs
const maxArguments = 1 << 20; // characters of one call's arguments

export interface Tool {
  readonly name: string;
  args: string;
  large: boolean; // there was more than is kept
  input: boolean; // still comes
  output: boolean; // has come
  asked: boolean; // a question about it is open
  decided?: boolean; // what was answered
}

export interface Tools {
  /** Takes the events of tool calls; false for any other. */
  take(event: Event): boolean;
  get(id: string): Tool | undefined;
  start(id: string, name: string): void;
  args(id: string, delta: unknown): void;
  /** Says what the input has come to. */
  end(id: string): void;
  /** A call that stands for a question itself: its input is there at once. */
  standFor(id: string, name: string, input: unknown): void;
  /** That the agent tells the output means that it was the agent's to execute: providerExecuted keeps clients from sending it back. */
  output(id: string, output: unknown): void;
  outputError(id: string, why: string): void;
  /** Whether input is still coming. */
  inputOpen(): boolean;
  /** Whether a call has no output. */
  waiting(): boolean;
  /** Ends all input. */
  close(): void;
  /** Gives an output to calls that were decided about and have none. */
  settle(): void;
}

export function toolsOf(send: Tell): Tools {
  const known = new Map<string, Tool>(); // in the order in which they began

  function know(id: string, tool: Partial<Tool> & { readonly name: string }): void {
    known.delete(id);
    const [oldest] = known.keys();
    if (oldest !== undefined && known.size === maxTools) {
      tools.end(oldest);
      known.delete(oldest);
    }
    known.set(id, { args: "", large: false, input: false, output: false, asked: false, ...tool });
  }

  const available = (toolCallId: string, toolName: string, input: unknown): void =>
    send({ type: "tool-input-available", toolCallId, toolName, input, dynamic: true });
  const unusable = (toolCallId: string, toolName: string, input: unknown, errorText: string): void =>
    send({ type: "tool-input-error", toolCallId, toolName, input, dynamic: true, errorText });

  const tools: Tools = {
    get: (id) => known.get(id),
    start(id, name) {
      if (known.get(id)?.input) return;
      know(id, { name, input: true });
      send({ type: "tool-input-start", toolCallId: id, toolName: name, dynamic: true });
    },
    args(id, delta) {
      const tool = known.get(id);
      if (!tool?.input || typeof delta !== "string") return;
      if (tool.args.length + delta.length <= maxArguments) tool.args += delta;
      else [tool.large, tool.args] = [true, ""];
      send({ type: "tool-input-delta", toolCallId: id, inputTextDelta: delta });
    },
    end(id) {
      const tool = known.get(id);
      if (!tool?.input) return;
      const { args, large, name } = tool;
      tool.input = false;
      tool.args = "";
      if (large) return unusable(id, name, null, "the arguments are too large to be shown");
      if (args.trim() === "") return available(id, name, {});
      const input = parsed(args);
      if (input) available(id, name, input.value);
      else unusable(id, name, args, "the arguments are not JSON");
    },
    standFor(id, name, input) {
      know(id, { name, asked: true });
      available(id, name, input);
    },
    output(id, output) {
      send({ type: "tool-output-available", toolCallId: id, output, dynamic: true, providerExecuted: true });
    },
    outputError(id, why) {
      send({ type: "tool-output-error", toolCallId: id, errorText: why, dynamic: true, providerExecuted: true });
    },
    inputOpen: () => [...known.values()].some((tool) => tool.input),
    waiting: () => [...known.values()].some((tool) => !tool.output),
    close() {
      for (const id of [...known.keys()]) tools.end(id);
    },
    settle() {
      for (const [id, tool] of known) {
        if (tool.output || tool.decided === undefined) continue;
        tool.output = true;
        if (tool.decided) tools.output(id, null);
        else send({ type: "tool-output-denied", toolCallId: id });
      }
    },
    take(event) {
      const id = textOf(event["toolCallId"]);
      switch (event.type) {
        case "TOOL_CALL_START":
          tools.start(id, textOf(event["toolCallName"]));
          return true;
        case "TOOL_CALL_ARGS":
          tools.args(id, event["delta"]);
          return true;
        case "TOOL_CALL_END":
          tools.end(id);
          return true;
        case "TOOL_CALL_RESULT":
          result(id, event);
          return true;
        default:
          return false;
      }
    },
  };

  function result(id: string, event: Event): void {
    const tool = known.get(id);
    if (!tool) {
      send({ type: "data-tool-result", id, data: content(event["content"]) }); // of a call that an earlier run has made
      return;
    }
    tools.end(id);
    tool.output = true;
    const why = textOf(event["error"]);
    if (why) tools.outputError(id, why);
    else tools.output(id, content(event["content"]));
  }

  return tools;
}

/** A result's content: an object or an array where it is the text of one. */
function content(said: unknown): unknown {
  const text = textOf(said).trim();
  const value = text.startsWith("{") || text.startsWith("[") ? parsed(text) : null;
  return value ? value.value : (said ?? null);
}

function parsed(text: string): { readonly value: unknown } | null {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return null;
  }
}
