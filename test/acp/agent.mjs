// An ACP agent on @agentclientprotocol/sdk that does what its prompt says: one step a line, a verb and the rest.
//
//   node agent.mjs [early] [load] [resume] [auth]
//
// early: updates of a session come before the answer that names it. load, resume: sessions can be taken up again.
// auth: sessions need authenticate. The steps are at the end.
import { closeSync } from "node:fs";
import { Readable } from "node:stream";
import { agent, methods, ndJsonStream, RequestError } from "@agentclientprotocol/sdk";

const can = new Set(process.argv.slice(2));
const sleep = (ms, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => (clearTimeout(timer), reject(new Cancelled())), { once: true });
    if (signal?.aborted) (clearTimeout(timer), reject(new Cancelled()));
  });

class Cancelled extends Error {}
class Stopped extends Error {
  constructor(reason) {
    super(reason);
    this.reason = reason;
  }
}

// What is written to stdout. While it is held, everything goes out as one write, once `until` is in it.
const out = {
  held: null,
  until: "",
  hold(until) {
    Object.assign(this, { held: [], until });
  },
  write(bytes) {
    this.held?.push(bytes);
    if (this.held) {
      const all = Buffer.concat(this.held);
      if (!all.includes(this.until)) return;
      this.held = null;
      bytes = all;
    }
    return new Promise((resolve, reject) => process.stdout.write(bytes, (error) => (error ? reject(error) : resolve())));
  },
};
const stdout = new WritableStream({ write: (bytes) => out.write(bytes) });

let client;
let capabilities = {};
let authenticated = !can.has("auth");
let sessions = 0;
const running = new Map(); // session id -> AbortController of its turn
const how = new Map(); // session id -> how it was begun

function begun(sessionId, way) {
  if (!authenticated) throw RequestError.authRequired();
  how.set(sessionId, way);
}

const app = agent({ name: "scripted" })
  .onRequest(methods.agent.initialize, ({ params }) => {
    capabilities = params.clientCapabilities ?? {};
    return {
      protocolVersion: 1,
      agentInfo: { name: "scripted", version: "1.0.0" },
      agentCapabilities: {
        loadSession: can.has("load"),
        sessionCapabilities: can.has("resume") ? { resume: {} } : {},
        promptCapabilities: { embeddedContext: true },
      },
      authMethods: can.has("auth") ? [{ id: "key", name: "Key" }, { id: "other", name: "Other" }] : [],
    };
  })
  .onRequest(methods.agent.authenticate, ({ params }) => {
    if (params.methodId !== "key") throw RequestError.invalidParams(`unknown method ${params.methodId}`);
    authenticated = true;
    return {};
  })
  .onRequest(methods.agent.session.new, async () => {
    const sessionId = `session-${process.pid}-${++sessions}`;
    begun(sessionId, "new");
    if (can.has("early")) {
      await update(sessionId, { sessionUpdate: "current_mode_update", currentModeId: "early" });
      await update(sessionId, { sessionUpdate: "session_info_update", title: "early" });
    }
    return { sessionId };
  })
  .onRequest(methods.agent.session.load, async ({ params: { sessionId } }) => {
    begun(sessionId, "load");
    await update(sessionId, { sessionUpdate: "user_message_chunk", content: text("old question") });
    await update(sessionId, { sessionUpdate: "agent_message_chunk", content: text("old answer") });
    await update(sessionId, { sessionUpdate: "tool_call", toolCallId: "old", title: "Old call", status: "completed" });
    return {};
  })
  .onRequest(methods.agent.session.resume, ({ params: { sessionId } }) => {
    begun(sessionId, "resume");
    return {};
  })
  .onNotification(methods.agent.session.cancel, ({ params }) => running.get(params.sessionId)?.abort())
  .onRequest(methods.agent.session.prompt, async ({ params: { sessionId, prompt } }) => {
    const turn = new AbortController();
    running.set(sessionId, turn);
    const script = prompt.map((block) => block.text ?? "").join("\n");
    try {
      for (const line of script.split("\n").filter(Boolean)) {
        const [, verb, rest] = /^(\S+) ?(.*)$/.exec(line);
        if (!steps[verb]) throw RequestError.invalidParams(`no step ${verb}`);
        await steps[verb]({ sessionId, rest, signal: turn.signal });
      }
    } catch (error) {
      if (error instanceof Stopped) return { stopReason: error.reason };
      if (!(error instanceof Cancelled)) throw error;
      await say(sessionId, "cancelled");
      return { stopReason: "cancelled" };
    } finally {
      running.delete(sessionId);
    }
    return { stopReason: turn.signal.aborted ? "cancelled" : "end_turn" };
  });

const text = (text) => ({ type: "text", text });
const update = (sessionId, update) => client.notify(methods.client.session.update, { sessionId, update });
const say = (sessionId, words) => update(sessionId, { sessionUpdate: "agent_message_chunk", content: text(words) });

// Asks for leave to do something, and says what the answer was.
async function permission({ sessionId }, n) {
  const toolCall = { toolCallId: `asked-${n}`, title: `Risk ${n}`, kind: "execute", rawInput: { n } };
  await update(sessionId, { sessionUpdate: "tool_call", status: "pending", ...toolCall });
  await say(sessionId, `before ${n}`);
  const answer = client.request(methods.client.session.requestPermission, {
    sessionId,
    toolCall: { ...toolCall, title: `Really risk ${n}` },
    options: [
      { optionId: "yes", name: "Yes", kind: "allow_once" },
      { optionId: "no", name: "No", kind: "reject_once" },
    ],
  });
  await say(sessionId, `after ${n}`);
  const { outcome } = await answer;
  await update(sessionId, {
    sessionUpdate: "tool_call_update",
    toolCallId: toolCall.toolCallId,
    status: outcome.optionId === "yes" ? "completed" : "failed",
  });
  await say(sessionId, `answer ${n} ${outcome.optionId ?? outcome.outcome}`);
}

// Waits for something; a cancel ends the wait, after it: the agent has to get all its answers.
async function unlessCancelled(signal, wait) {
  const got = await wait;
  if (signal.aborted) throw new Cancelled();
  return got;
}

const steps = {
  say: ({ sessionId, rest }) => say(sessionId, rest),
  think: ({ sessionId, rest }) => update(sessionId, { sessionUpdate: "agent_thought_chunk", content: text(rest) }),
  update: ({ sessionId, rest }) => update(sessionId, JSON.parse(rest)),
  image: ({ sessionId }) =>
    update(sessionId, { sessionUpdate: "agent_message_chunk", content: { type: "image", mimeType: "image/png", data: "AA==" } }),
  plan: ({ sessionId, rest }) =>
    update(sessionId, {
      sessionUpdate: "plan",
      entries: rest.split(",").map((content) => ({ content, priority: "medium", status: "pending" })),
    }),
  // An edit with its diff, from start to end.
  edit: async ({ sessionId, rest }) => {
    const toolCallId = `edit-${rest}`;
    const about = { title: `Edit ${rest}`, kind: "edit", locations: [{ path: rest }], rawInput: { path: rest } };
    await update(sessionId, { sessionUpdate: "tool_call", toolCallId, status: "pending", ...about });
    await update(sessionId, { sessionUpdate: "tool_call_update", toolCallId, status: "in_progress" });
    await update(sessionId, {
      sessionUpdate: "tool_call_update",
      toolCallId,
      status: "completed",
      content: [{ type: "diff", path: rest, oldText: "a\n", newText: "b\n" }],
      rawOutput: { changed: 1 },
    });
  },
  // N requests, all open at once.
  ask: ({ rest, signal, ...turn }) =>
    unlessCancelled(signal, Promise.all(Array.from({ length: Number(rest) }, (_, i) => permission(turn, i + 1)))),
  form: async ({ sessionId, rest, signal }) => {
    const answer = await unlessCancelled(
      signal,
      client.request(methods.client.elicitation.create, {
        sessionId,
        mode: "form",
        message: rest,
        requestedSchema: { type: "object", properties: { name: { type: "string" }, age: { type: "integer" } }, required: ["name"] },
      }),
    );
    await say(sessionId, `form ${answer.action} ${JSON.stringify(answer.content ?? null)}`);
  },
  link: async ({ sessionId, rest, signal }) => {
    const answer = await unlessCancelled(
      signal,
      client.request(methods.client.elicitation.create, { sessionId, mode: "url", message: "Visit", elicitationId: "e1", url: rest }),
    );
    await say(sessionId, `link ${answer.action}`);
  },
  burst: async ({ sessionId, rest }) => {
    for (let i = 1; i <= Number(rest); i++) await say(sessionId, `${i} `);
  },
  wait: ({ signal }) => sleep(3_600_000, signal),
  // A call that takes its time, whatever it is told.
  deaf: async ({ sessionId, rest }) => {
    await update(sessionId, { sessionUpdate: "tool_call", toolCallId: "deaf", title: "Long", kind: "execute", status: "in_progress", rawInput: {} });
    await sleep(Number(rest));
  },
  stop: ({ rest }) => {
    throw new Stopped(rest);
  },
  fail: ({ rest }) => {
    throw new RequestError(-32000, rest, { detail: "kept to ourselves" });
  },
  // Stdout that is not ACP; the bytes are given as a JSON string.
  dirt: ({ rest }) => out.write(Buffer.from(JSON.parse(rest))),
  // A line of so many bytes.
  long: ({ sessionId, rest }) => say(sessionId, "x".repeat(Number(rest))),
  flood: async ({ rest }) => {
    const mebibyte = Buffer.alloc(1 << 20, "x");
    for (let i = 0; i < Number(rest); i++) await out.write(mebibyte);
  },
  stderr: ({ rest }) => new Promise((resolve) => process.stderr.write(JSON.parse(rest), resolve)),
  // So many mebibytes on stderr.
  scream: async ({ rest }) => {
    const mebibyte = Buffer.alloc(1 << 20, `${"x".repeat(1023)}\n`);
    for (let i = 0; i < Number(rest); i++) await new Promise((resolve) => process.stderr.write(mebibyte, resolve));
  },
  die: ({ rest }) => (rest === "KILL" ? process.kill(process.pid, "SIGKILL") : process.exit(Number(rest))),
  "close-stdout": () => closeSync(1), // Node's own way leaves it open
  // The last chunk and the response in one write.
  together: ({ sessionId, rest }) => {
    out.hold('"stopReason"');
    void say(sessionId, rest);
  },
  // A chunk behind the response, both in one write.
  behind: ({ sessionId, rest }) => {
    out.hold(JSON.stringify(rest));
    setTimeout(() => void say(sessionId, rest));
  },
  // A request that no client knows.
  unknown: async ({ sessionId, rest }) => {
    const answer = await client.request(rest, { sessionId }).catch((error) => `error ${error.code}`);
    await say(sessionId, `${rest} ${typeof answer === "string" ? answer : JSON.stringify(answer)}`);
  },
  read: async ({ sessionId, rest }) => {
    const answer = await client
      .request(methods.client.fs.readTextFile, { sessionId, path: rest })
      .then(({ content }) => content, (error) => `error ${error.code}`);
    await say(sessionId, `read ${answer}`);
  },
  run: async ({ sessionId, rest }) => {
    const { terminalId } = await client.request(methods.client.terminal.create, { sessionId, command: "sh", args: ["-c", rest] });
    await update(sessionId, { sessionUpdate: "tool_call", toolCallId: "run", title: rest, kind: "execute", status: "in_progress", content: [{ type: "terminal", terminalId }] });
    const { exitCode } = await client.request(methods.client.terminal.waitForExit, { sessionId, terminalId });
    const { output } = await client.request(methods.client.terminal.output, { sessionId, terminalId });
    await update(sessionId, { sessionUpdate: "tool_call_update", toolCallId: "run", status: "completed" });
    await client.request(methods.client.terminal.release, { sessionId, terminalId });
    await say(sessionId, `exit ${exitCode} ${output.trim()}`);
  },
  capabilities: ({ sessionId }) => say(sessionId, JSON.stringify(capabilities)),
  session: ({ sessionId }) => say(sessionId, `${how.get(sessionId)} ${sessionId}`),
  pid: ({ sessionId }) => say(sessionId, `pid ${process.pid}`),
};

client = app.connect(ndJsonStream(stdout, Readable.toWeb(process.stdin))).client;
