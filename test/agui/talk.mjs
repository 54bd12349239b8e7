// Holds conversations with the stock HttpAgent of @ag-ui/client, as a page does that stays open.
//
//   node talk.mjs < CONVERSATIONS
//
// CONVERSATIONS is a JSON array of {url, threadId, state, turns: [{runId, messages, tools, answers}]}. For each turn
// its messages are added to those that the client has, and the agent is run. answers maps the ids of the interrupts that
// the turn before ended with to {status, payload}. stdout gets one line of JSON for each turn; see client.mjs.
import { text } from "node:stream/consumers";
import { HttpAgent, buildResumeArray } from "@ag-ui/client";
import { run } from "./client.mjs";

for (const { url, threadId, state, turns } of JSON.parse(await text(process.stdin))) {
  const agent = new HttpAgent({ url, threadId, initialState: state });
  for (const { messages, answers, ...parameters } of turns) {
    agent.addMessages(messages ?? []);
    if (answers) parameters.resume = buildResumeArray(agent.pendingInterrupts, answers);
    await run(agent, parameters);
  }
}
