// An agent of a test, and what it was told.
import type { BaseEvent } from "@ag-ui/client";
import { RejoinAgent, type RejoinAgentConfig } from "../src/agui.js";
import type { Relay } from "./agui-relay.js";

export const threadId = "chat";

export function agent(relay: Relay, config: RejoinAgentConfig = {}): RejoinAgent {
  return new RejoinAgent({
    url: "http://relay", fetch: relay.fetch, threadId, tabs: false, backoff: { first: 1, max: 5 }, answerTimeout: 500,
    initialMessages: [{ id: "u1", role: "user", content: "hello" }], ...config,
  });
}

/** The text of the messages, in their order. */
export function texts(it: RejoinAgent): string[] {
  return it.messages.filter((message) => message.role === "assistant").map((message) => String(message.content));
}

/** Collects what an agent's subscribers are told. */
export function ear(): { readonly events: BaseEvent[]; readonly errors: string[]; onEvent(p: { event: BaseEvent }): void; onRunFailed(p: { error: Error }): void } {
  const events: BaseEvent[] = [];
  const errors: string[] = [];
  return {
    events, errors,
    onEvent: ({ event }) => void events.push(event),
    onRunFailed: ({ error }) => void errors.push((error as Error & { code?: string }).code?.toString() ?? error.name),
  };
}

export function types(events: readonly BaseEvent[]): string[] {
  return events.map(({ type }) => String(type));
}

export const pieces = ["Once ", "upon ", "a ", "time."];
export const whole = pieces.join("");
