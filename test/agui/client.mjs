// One run of a stock HttpAgent, and what the application on top of it would believe. `outcome` is
//
//   finished  RUN_FINISHED came, the promise resolved
//   error     RUN_ERROR came; the promise resolves all the same, only the subscriber is told
//   eof       the stream ended without either; the promise resolves, nobody is told
//   rejected  the promise was rejected, `error` says why
//
// stderr gets "event N TYPE" for each event as the client applies it, so that a test can act in the middle of a run.

// The client logs what it drops; a test wants to see that rather than a mix with the answer.
let log = [];
for (const level of ["log", "info", "warn", "error", "debug"]) console[level] = (...words) => log.push(words.map(String).join(" "));

// When a connection breaks the client rejects its promise and, besides, leaves a rejection that nobody can handle.
process.on("unhandledRejection", (error) => log.push(`unhandled: ${error}`));

process.exitCode = 0;

/** Runs the agent, prints its verdict and sees to the exit code: 3 when any run was an error or rejected. */
export async function run(agent, parameters) {
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
  const verdict = { ...settled, messages: agent.messages, state: agent.state, events, log };
  process.stdout.write(JSON.stringify(verdict) + "\n");
  if (verdict.outcome === "error" || verdict.outcome === "rejected") process.exitCode = 3;
}
