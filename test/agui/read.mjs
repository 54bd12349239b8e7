// Reads runs with the stock HttpAgent of @ag-ui/client and prints what the client ends up with.
//
//   node read.mjs (--input FILE --url URL)... [--header NAME=VALUE]...
//
// FILE holds a RunAgentInput. The URLs are read one after the other, each with its own input and client, and stdout gets
// one line of JSON for each; see client.mjs.
//
// Exit: 3 when any was an error or rejected, 0 when all were finished or eof (the client calls both a success), 1 for
// anything else.
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { HttpAgent } from "@ag-ui/client";
import { run } from "./client.mjs";

const { values } = parseArgs({
  options: {
    input: { type: "string", multiple: true },
    url: { type: "string", multiple: true },
    header: { type: "string", multiple: true },
  },
});
const headers = Object.fromEntries((values.header ?? []).map((pair) => pair.split(/=(.*)/s, 2)));

for (const [i, url] of values.url.entries()) {
  const { threadId, messages, state, ...parameters } = JSON.parse(await readFile(values.input[i], "utf8"));
  await run(new HttpAgent({ url, headers, threadId, initialMessages: messages, initialState: state }), parameters);
}
