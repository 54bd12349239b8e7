// Runs the lines of README.md on the AG-UI agent and the AI SDK transport.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { transform } from "esbuild";
import { Window } from "happy-dom";
import { answer, Relay, until } from "./agui-relay.js";

const page = new Window({ url: "http://app/" });
const names = { window: page, document: page.document, navigator: page.navigator, HTMLElement: page.HTMLElement };

const relay = new Relay();
globalThis.fetch = relay.fetch as typeof fetch;
globalThis.BroadcastChannel = undefined as unknown as typeof BroadcastChannel; // it would keep the test alive

const [, sections = ""] = readFileSync(`${process.cwd()}/README.md`, "utf8").split(/^(?=## AG-UI agent$)/m);
const blocks = [...sections.matchAll(/^```tsx?\n(.*?)^```$/gms)].map(([, code]) => String(code));

async function run(code: string, name: string): Promise<Record<string, unknown>> {
  const { code: js } = await transform(code, { loader: "tsx", jsx: "automatic", format: "esm" });
  const file = new URL(`./${name}.docs.mjs`, import.meta.url);
  await writeFile(file, js.replace(/"@rejoin\/client\/(\w+)"/g, (_, entry) => JSON.stringify(new URL(`../src/${String(entry)}.js`, import.meta.url).href)));
  try {
    return (await import(file.href)) as Record<string, unknown>;
  } finally {
    await rm(file);
  }
}

test("there are lines to run", () => assert.equal(blocks.length, 5));

test("AG-UI agent", async () => {
  relay.onSend = (id) => {
    relay.say(id, ...answer(id, "chat-1", ["a story"]));
    relay.end(id);
  };
  await run(blocks[0]!, "agui");
  assert.equal(relay.requests.at(-1)?.headers.get("authorization"), "Bearer a bearer token");
});

test("AG-UI agent: questions", async () => {
  const answers: unknown[] = [];
  relay.onSend = (id) => relay.say(id, { type: "RUN_STARTED", threadId: "chat-2", runId: id }, { type: "CUSTOM", name: "demo.permission.request", value: { requestId: "q" } });
  relay.onAnswer = (id, request, outcome) => {
    answers.push(outcome);
    if (request === "q") {
      relay.say(id, { type: "RUN_FINISHED", threadId: "chat-2", runId: id, outcome: { type: "interrupt", interrupts: [{ id: "i", reason: "confirm" }] } });
      relay.end(id);
      return undefined;
    }
    const next = relay.begin("chat-2");
    relay.say(next, ...answer(next, "chat-2", ["removed"]));
    setTimeout(() => relay.end(next), 50);
    return next;
  };
  await run(blocks[1]!, "questions");
  assert.deepEqual(answers, [{ outcome: "selected", optionId: "allow" }, { approved: true }]);
});

test("AI SDK transport: a form", async () => {
  const id = relay.begin("chat-4");
  relay.say(id, { type: "RUN_STARTED" });
  const answers: unknown[] = [];
  relay.onAnswer = (_, request, outcome) => void answers.push([request, outcome]) as undefined;
  const { find, submit } = (await run(blocks[3]!, "form")) as { find: (c: string) => Promise<ReadableStream>; submit: (c: string, r: string, v: unknown) => Promise<void> };
  const stream = await find("chat-4");
  await submit("chat-4", "q", { n: 1 });
  assert.deepEqual(answers, [["q", { action: "accept", content: { n: 1 } }]]);
  await stream.cancel();
});

test("AI SDK transport: useChat", async () => {
  for (const [name, value] of Object.entries(names)) Object.defineProperty(globalThis, name, { value, configurable: true });
  const { createElement } = await import("react");
  const { createRoot } = await import("react-dom/client");
  const { Chat } = (await run(blocks[2]!, "usechat")) as { Chat: Parameters<typeof createElement>[0] };
  const id = relay.begin("chat-3");
  relay.say(id, ...answer(id, "chat-3", ["a story"]));
  const host = page.document.createElement("div");
  const root = createRoot(host as unknown as Element);
  root.render(createElement(Chat, { id: "chat-3", saved: [] } as object));
  await until(() => host.textContent.includes("a story"));
  relay.end(id);
  await until(() => host.textContent.includes("ready"));
  root.unmount();
});

test("AI SDK transport: saved messages", async () => {
  const { savedMessages } = (await run(blocks[4]!, "saved")) as { savedMessages: (turns: unknown[]) => unknown };
  const text = (role: string, id: string, text: string): object => ({ id, role, parts: [{ type: "text", text }] });
  const turn = (run_id: string, messages: object[], said: string): object => ({
    run_id,
    events: [
      { type: "RUN_STARTED", runId: run_id, input: { messages } }, { type: "TEXT_MESSAGE_START", messageId: `a-${run_id}`, role: "assistant" },
      { type: "TEXT_MESSAGE_CONTENT", messageId: `a-${run_id}`, delta: said }, { type: "TEXT_MESSAGE_END", messageId: `a-${run_id}` },
    ],
  });
  const hi = { id: "u1", role: "user", content: "hi" };
  const turns = [turn("r1", [hi], "hello"), turn("r2", [hi, { id: "r1", role: "assistant", content: "hello" }, { id: "u2", role: "user", content: "and?" }], "so")];
  assert.deepEqual(savedMessages(turns), [text("user", "u1", "hi"), text("assistant", "r1", "hello"), text("user", "u2", "and?"), text("assistant", "r2", "so")]);
});
