// The stock agents. Each entry maps a RunAgentInput to the Response its own server code gives.
import { createAnthropic } from "@ai-sdk/anthropic";
import { BuiltInAgent, defineTool } from "@copilotkitnext/agent";
import { CopilotRuntime, InMemoryAgentRunner, createCopilotEndpoint } from "@copilotkitnext/runtime";
import { chat, chatParamsFromRequest, maxIterations, toServerSentEventsResponse, toolDefinition } from "@tanstack/ai";
import { createAnthropicChat } from "@tanstack/ai-anthropic";
import { z } from "zod";
import { scriptedFetch } from "./model.mjs";

const model = "claude-sonnet-4-5";
const weather = {
  name: "weather",
  description: "Current weather of a city",
  parameters: z.object({ city: z.string(), unit: z.string() }),
  execute: async ({ city, unit }) => ({ city, degrees: city === "東京" ? 24 : 17, unit, sky: city === "東京" ? "☀️" : "🌦️" }),
};
// TanStack AI wants a newer zod than CopilotKit brings, but takes plain JSON Schema.
const weatherJSON = {
  type: "object",
  properties: { city: { type: "string" }, unit: { type: "string" } },
  required: ["city", "unit"],
};

const post = (input) =>
  new Request("http://agent.invalid/copilotkit/agent/default/run", {
    method: "POST",
    headers: { "content-type": "application/json", accept: "text/event-stream" },
    body: JSON.stringify(input),
  });

/** CopilotKit's BuiltInAgent (AI SDK) behind CopilotKit's runtime endpoint. */
export async function copilotkit(input, script) {
  const provider = createAnthropic({ apiKey: "none", baseURL: "http://model.invalid/v1", fetch: scriptedFetch(script) });
  const agent = new BuiltInAgent({
    model: provider(model),
    maxSteps: script.length,
    maxRetries: 0,
    maxOutputTokens: 4096,
    tools: [defineTool(weather)],
    providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } } },
  });
  const runtime = new CopilotRuntime({ agents: { default: agent }, runner: new InMemoryAgentRunner() });
  return createCopilotEndpoint({ runtime, basePath: "/copilotkit" }).fetch(post(input));
}

/** TanStack AI's chat() behind its own server-sent events response. */
export async function tanstack(input, script) {
  const params = await chatParamsFromRequest(post(input));
  const stream = chat({
    adapter: createAnthropicChat(model, "none", { baseURL: "http://model.invalid", fetch: scriptedFetch(script), maxRetries: 0 }),
    messages: params.messages,
    threadId: params.threadId,
    runId: params.runId,
    tools: [toolDefinition({ name: weather.name, description: weather.description, inputSchema: weatherJSON }).server(weather.execute)],
    agentLoopStrategy: maxIterations(script.length),
    modelOptions: { thinking: { type: "enabled", budget_tokens: 1024 } },
  });
  return toServerSentEventsResponse(stream);
}
