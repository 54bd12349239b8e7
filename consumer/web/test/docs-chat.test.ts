// What the page for frontend engineers says of a chat is true: its lines are run as they stand.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { build } from "esbuild";
import { createElement } from "react";
import type { UseRejoin } from "../src/react.js";
import { act, ended, mount, script, snapshot, synced, until } from "./react-page.js";
import { request, say, startedWith } from "./chat-fake.js";

const page = existsSync("docs-chat.md") ? "docs-chat.md" : "README.md";
const sections = readFileSync(page, "utf8").split(/^## /m);

/** The lines of a section, as a module of which the rest is given. */
async function lines(section: string, language: string, before: string, after: string): Promise<Record<string, unknown>> {
  const text = sections.find((s) => s.startsWith(`${section}\n`)) ?? "";
  const blocks = [...text.matchAll(new RegExp("^```" + language + "\\n([\\s\\S]*?)^```", "gm"))].map((m) => m[1] ?? "");
  assert.ok(blocks.length > 0, `${page} has lines in "${section}"`);
  const { outputFiles } = await build({
    stdin: { contents: [before, ...blocks, after].join("\n"), resolveDir: ".", loader: language === "tsx" ? "tsx" : "ts" }, write: false, bundle: true, format: "esm", platform: "node",
    jsx: "automatic", external: ["react", "react/jsx-runtime"], alias: { "@rejoin/client": "./src/index.ts", "@rejoin/client/chat": "./src/chat.ts", "@rejoin/client/react": "./src/react.ts" },
  });
  // React is looked up from where the module lies: here, and not in the data.
  const code = outputFiles[0]!.text.replace(/from "(react[^"]*)"/g, (_, name: string) => `from ${JSON.stringify(import.meta.resolve(name))}`);
  return import(`data:text/javascript;base64,${Buffer.from(code).toString("base64")}`) as Promise<Record<string, unknown>>;
}

test("Show a chat", async (t) => {
  const relay = script();
  const asks = { ...request("q1"), value: { requestId: "q1", options: [{ optionId: "yes", name: "Yes" }] } };
  t.mock.method(globalThis, "fetch", relay.fetch);
  void until(() => relay.streams.length > 0).then(() => relay.streams[0]!.send(snapshot("r0", 3, [startedWith("r0", "hi"), say("a0", "yes"), asks]), synced("r0", 3)));
  const own = await lines("Show a chat", "ts", "const drawn = []; const draw = (view) => drawn.push(view);", "export { drawn, line, chat, leave, messages, questions, terminal };") as {
    drawn: unknown[]; line: (m: unknown) => string; chat: { close(): void; view: { messages: unknown[]; questions: unknown[] } }; leave: () => void; messages: unknown[]; questions: unknown[];
  };
  assert.ok(own.drawn.length > 0);
  assert.deepEqual(own.chat.view.messages.map(own.line), ["you: hi", "agent: yes …", "you: What is a cursor?"]);
  assert.deepEqual([own.messages.length, own.questions.length, own.chat.view.questions.length], [2, 1, 0]);
  assert.ok(relay.asked.includes("/chat/send") && relay.asked.includes("/chat/answer"));
  own.leave();
  own.chat.close();
});

test("React", async (t) => {
  const relay = script();
  t.mock.method(globalThis, "fetch", relay.fetch);
  const { MyChat } = await lines("React", "tsx", "const fetchToken = () => 'token';", "") as { MyChat: (props: { chatId: string }) => ReturnType<typeof createElement> & UseRejoin };
  const shown = await mount(createElement(MyChat, { chatId: "c1" }));
  await act(() => until(() => relay.streams.length > 0));
  assert.equal(relay.streams[0]!.headers.get("Authorization"), "Bearer token");
  await relay.streams[0]!.send(snapshot("r1", 2, [startedWith("r1", "hi"), say("a1", " there")]), synced("r1", 2));
  assert.equal(shown.text(), "livehi thereStop");
  await relay.streams[0]!.send({ ...ended("r1", 2), persisted: false });
  assert.equal(shown.text(), "endedhi thereThis answer was not saved.Say hello");
  await shown.unmount();
});
