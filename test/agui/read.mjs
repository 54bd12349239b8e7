// Reads runs with the stock HttpAgent of @ag-ui/client and prints what the client ends up with.
//
//   node read.mjs (--input FILE --url URL)... [--header NAME=VALUE]...
//
// FILE holds a RunAgentInput. The URLs are read one after the other, each with its own input and client, and stdout gets
// one line of JSON for each. stderr gets "event N TYPE" for each event as the client applies it, so that a test can act in
// the middle of a run. `outcome` says what the application on top of the client would believe:
//
//   finished  RUN_FINISHED came, the promise resolved
//   error     RUN_ERROR came; the promise resolves all the same, only the subscriber is told
//   eof       the stream ended without either; the promise resolves, nobody is told
//   rejected  the promise was rejected, `error` says why
//
// Exit: 3 when any was an error or rejected, 0 when all were finished or eof (the client calls both a success), 1 for
// anything else.
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { HttpAgent } from "@ag-ui/client";

const { values } = parseArgs({
  options: {
    input: { type: "string", multiple: true },
    url: { type: "string", multiple: true },
    header: { type: "string", multiple: true },
  },
});
const headers = Object.fromEntries((values.header ?? []).map((pair) => pair.split(/=(.*)/s, 2)));

// The client logs what it drops; a test wants to see that rather than a mix with the answer.
let log = [];
for (const level of ["log", "info", "warn", "error", "debug"]) console[level] = (...words) => log.push(words.map(String).join(" "));

// When a connection breaks the client rejects its promise and, besides, leaves a rejection that nobody can handle.
process.on("unhandledRejection", (error) => log.push(`unhandled: ${error}`));

process.exitCode = 0;
for (const [i, url] of values.url.entries()) {
  const verdict = await read(url, await readFile(values.input[i], "utf8"));
  process.stdout.write(JSON.stringify(verdict) + "\n");
  if (verdict.outcome === "error" || verdict.outcome === "rejected") process.exitCode = 3;
}

async function read(url, input) {
  const { threadId, messages, state, ...parameters } = JSON.parse(input);
  const agent = new HttpAgent({ url, headers, threadId, initialMessages: messages, initialState: state });
  const events = [];
  let outcome = "eof";
  log = [];
  const settled = await agent
    .runAgent(parameters, {
      onEvent: ({ event }) => {
        events.push(event);
        process.stderr.write(`event ${events.length} ${event.type}\n`);
      },
      onRunFinishedEvent: () => void (outcome = "finished"),
      onRunErrorEvent: () => void (outcome = "error"),
    })
    .then(
      ({ result, newMessages }) => ({ outcome, result, newMessages }),
      ({ name, message, status }) => ({ outcome: "rejected", error: { name, message, status } }),
    );
  return { ...settled, messages: agent.messages, state: agent.state, events, log };
}
