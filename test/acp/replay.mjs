// Replays the events of turns through the stock HttpAgent of @ag-ui/client and prints what it makes of them.
//
//   node replay.mjs < events.ndjson
//
// An empty line ends a turn. The turns are runs of one agent, one after the other, as in a browser that watches a chat: its
// messages stay. stdout gets one JSON object: `outcomes` has finished, cancelled, error, or why the client rejected the run,
// for each turn; `messages` is what it ended up with; `pending` are calls that it takes for its own, turn by turn; `log` is
// what it complained about.
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { HttpAgent } from "@ag-ui/client";

const turns = (await text(process.stdin)).split("\n\n").filter((turn) => turn.trim());
const log = [];
for (const level of ["log", "info", "warn", "error", "debug"]) console[level] = (...words) => log.push(words.map(String).join(" "));
process.on("unhandledRejection", (error) => log.push(`unhandled: ${error}`));

let next = 0;
const server = createServer((request, response) => {
  request.resume();
  response.setHeader("Content-Type", "text/event-stream");
  response.end(
    turns[next++]
      .split("\n")
      .filter(Boolean)
      .map((event) => `data: ${event}\n\n`)
      .join(""),
  );
}).listen(0, "127.0.0.1");
await once(server, "listening");

const agent = new HttpAgent({ url: `http://127.0.0.1:${server.address().port}/`, threadId: "chat" });
const outcomes = [];
const pending = [];
for (const _ of turns) {
  let outcome = "eof";
  let calls = [];
  await agent
    .runAgent(
      {},
      {
        onRunFinishedEvent: ({ outcome: how, pendingToolCallIds }) => {
          outcome = how === "success" ? "finished" : how;
          calls = pendingToolCallIds ?? [];
        },
        onRunErrorEvent: ({ event }) => void (outcome = `error: ${event.message}`),
      },
    )
    .catch((error) => void (outcome = `rejected: ${error.message}`));
  outcomes.push(outcome);
  pending.push(calls);
}
server.close();
process.stdout.write(JSON.stringify({ outcomes, pending, messages: agent.messages, log }) + "\n");
