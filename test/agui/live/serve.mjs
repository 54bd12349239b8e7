// A stock agent at work: TanStack AI's chat() behind its own server-sent events response, on a scripted model. It prints
// its URL and serves until its standard input ends.
//
// The model answers by what was said last: "where" calls a tool of the page, "weather" one of the agent's own, "send"
// one that needs approval; the result of a tool, and anything else, is told.
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { chat, chatParamsFromRequest, maxIterations, mergeAgentTools, toServerSentEventsResponse, toolDefinition } from "@tanstack/ai";
import { createAnthropicChat } from "@tanstack/ai-anthropic";
import { scriptedFetch } from "../record/model.mjs";

const anything = { type: "object", properties: {} };
const tools = [
  toolDefinition({ name: "weather", description: "The weather", inputSchema: anything }).server(async () => ({ sky: "🌦️" })),
  toolDefinition({ name: "send", description: "Sends it", inputSchema: anything, needsApproval: true }).server(async () => ({ sent: true })),
];

/** What the model says to a conversation. */
function turn({ messages }) {
  const said = JSON.stringify(messages.at(-1).content);
  const id = `toolu_${messages.length}`;
  if (said.includes("tool_result")) return [{ text: ["It ", "says ", ...said] }];
  for (const [word, tool] of [["where", "locate"], ["weather", "weather"], ["send", "send"]]) {
    if (said.includes(word)) return [{ text: ["One ", "moment"] }, { tool, id, args: ["{", "}"] }];
  }
  return [{ text: ["You said ", ...said, " 🙏"] }];
}

const model = (url, init) => scriptedFetch([turn(JSON.parse(init.body))])(url, init);

const interrupted = new Map(); // thread -> its last run, which the stock client does not name when it resumes

async function answer(request) {
  const { messages, threadId, runId, resume, tools: page } = await chatParamsFromRequest(request);
  const parentRunId = resume && interrupted.get(threadId);
  interrupted.set(threadId, runId);
  return toServerSentEventsResponse(
    chat({
      adapter: createAnthropicChat("claude-sonnet-4-5", "none", { baseURL: "http://model.invalid", fetch: model, maxRetries: 0 }),
      messages, threadId, runId, parentRunId, resume,
      tools: mergeAgentTools(tools, page),
      agentLoopStrategy: maxIterations(4),
    }),
  );
}

const server = createServer(async (req, res) => {
  try {
    const request = new Request("http://agent.invalid/", { method: "POST", headers: req.headers, body: Readable.toWeb(req), duplex: "half" });
    const response = await answer(request).catch((refusal) => { if (refusal instanceof Response) return refusal; throw refusal; });
    res.writeHead(response.status, Object.fromEntries(response.headers));
    await pipeline(Readable.fromWeb(response.body), res);
  } catch (error) {
    console.error(error);
    res.destroy();
  }
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
process.stdin.resume().on("end", () => process.exit(0));
