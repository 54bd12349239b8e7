// Runs stock AG-UI agents on a scripted model and keeps what they send, byte for byte:
//   testdata/<name>.sse     the response body
//   testdata/<name>.ndjson  one event a line, exactly the bytes after "data: "
//   testdata/<name>.input.json  the RunAgentInput that was posted
import { mkdir, writeFile } from "node:fs/promises";

process.env.COPILOTKIT_TELEMETRY_DISABLED = "true";
const { copilotkit, tanstack } = await import("./agents.mjs");
const { scripts } = await import("./scripts.mjs");

const recordings = {
  "copilotkit-text": [copilotkit, scripts.text],
  "copilotkit-tools": [copilotkit, scripts.tools],
  "copilotkit-state": [copilotkit, scripts.state],
  "copilotkit-error": [copilotkit, scripts.error],
  "tanstack-text": [tanstack, scripts.long],
  "tanstack-tools": [tanstack, scripts.tools],
  "tanstack-thinking": [tanstack, scripts.thinking],
  "tanstack-error": [tanstack, scripts.error],
};

const testdata = new URL("../testdata/", import.meta.url);
await mkdir(testdata, { recursive: true });
const only = process.argv.slice(2);
for (const [name, [agent, script]] of Object.entries(recordings)) {
  if (only.length && !only.includes(name)) continue;
  await record(name, agent, script);
}

async function record(name, agent, script) {
  const input = {
    threadId: `thread-${name}`,
    runId: `agent-run-${name}`,
    state: {},
    messages: [{ id: "user-1", role: "user", content: "Please help me 🙏" }],
    tools: [],
    context: [],
    forwardedProps: {},
  };
  const response = await agent(input, script);
  const body = await readAll(response.body);
  if (response.status !== 200) throw new Error(`${name}: ${response.status} ${body}`);
  const events = lines(name, body);
  await writeFile(new URL(`${name}.sse`, testdata), body);
  await writeFile(new URL(`${name}.ndjson`, testdata), events.map((line) => line + "\n").join(""));
  await writeFile(new URL(`${name}.input.json`, testdata), JSON.stringify(input, null, 2) + "\n");
  console.log(`${name}: ${events.length} events, ${body.length} bytes`);
}

/** The body's bytes. One of the agents puts strings into its stream, as Node's HTTP server allows. */
async function readAll(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

/** Takes the body apart and refuses anything but "data: <one JSON line>" blocks. */
function lines(name, body) {
  const blocks = body.toString("utf8").split("\n\n");
  if (blocks.pop() !== "") throw new Error(`${name}: the body does not end with an empty line`);
  return blocks.map((block) => {
    if (!block.startsWith("data: ") || block.includes("\n")) throw new Error(`${name}: unexpected block ${JSON.stringify(block)}`);
    const data = block.slice("data: ".length);
    JSON.parse(data);
    return data;
  });
}
