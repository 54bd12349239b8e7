// An application with the stock HttpAgent, of either line: it asks, and asks again when the connection breaks, as people do
// who press the button once more. It says what it is left with.
import { say, told } from "./say.mjs";

const [line, url, text] = process.argv.slice(2);
const { HttpAgent } = await import(line);
process.on("unhandledRejection", (error) => console.error("unhandled", error)); // a broken connection leaves one behind

const agent = new HttpAgent({ url, threadId: "theirs", initialMessages: [{ id: "u1", role: "user", content: text }] });

/** Runs once and says what the application is told. */
async function run(parameters) {
  let outcome = "eof";
  let failure;
  await agent
    .runAgent(parameters, {
      onTextMessageContentEvent: ({ event }) => void (event.delta.includes("HALF") && say("half")),
      onRunFinishedEvent: () => void (outcome = "finished"),
      onRunErrorEvent: ({ event }) => void ((outcome = "error"), (failure = event.message)),
    })
    .catch((error) => ((outcome = "rejected"), (failure = String(error.message))));
  say("ran", { outcome, failure, messages: agent.messages });
}

await run();
for (let command; (command = await told()) !== undefined; ) {
  const [what, ...rest] = command.split(" ");
  if (what === "add") agent.addMessage(JSON.parse(rest.join(" ")));
  if (what === "drop") agent.setMessages(agent.messages.filter((m) => m.id !== rest[0]));
  if (what === "run") await run(rest.length ? JSON.parse(rest.join(" ")) : undefined);
}
