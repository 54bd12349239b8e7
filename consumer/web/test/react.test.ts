import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { createElement as h, memo } from "react";
import { renderToString } from "react-dom/server";
import { act, ended, event, mount, script, snapshot, synced, until, type Page, type Script } from "./react-page.js";
import { say, startedWith, turn } from "./chat-fake.js";
import { useRejoin, type ChatMessage, type UseRejoin, type UseRejoinOptions } from "../src/react.js";

let relay: Script;
let page: Page | null = null;
let hook: UseRejoin; // of the last render
let renders: Record<string, number>;
beforeEach(() => { relay = script(); renders = {}; });
afterEach(async () => { await page?.unmount(); page = null; });

const Line = memo(({ message }: { message: ChatMessage }) => {
  renders[message.id] = (renders[message.id] ?? 0) + 1;
  return h("p", null, "text" in message ? message.text : message.kind);
});
function View({ chatId, options }: { chatId: string | null; options?: UseRejoinOptions }) {
  hook = useRejoin(chatId, { fetch: relay.fetch, tabs: false, headers: { "X-App": "1" }, ...options });
  assert.equal(hook.chatId, chatId, "no render shows another chat");
  return h("div", null, h("b", null, hook.status), ...hook.messages.map((message) => h(Line, { key: `${message.kind}-${message.id}`, message })));
}
const view = (chatId: string | null, options?: UseRejoinOptions) => h(View, { chatId, ...(options && { options }) });
const open = () => relay.streams.filter((s) => s.open()).map((s) => s.chatId);
const asked = (n: number) => act(() => until(() => relay.streams.length >= n));

test("DUP-01 StrictMode leaves one connection, and makes one request", async () => {
  page = await mount(view("c1"));
  await asked(1);
  assert.deepEqual(relay.asked.toSorted(), ["/chat/c1/history", "/chat/live"]);
  await relay.streams[0]!.send(snapshot("r1", 2, [startedWith("r1", "hi"), say("a1", "he")]), synced("r1", 2));
  await relay.streams[0]!.send(event("r1", 3, say("a1", "llo")));
  assert.equal(page.text(), "livehihello");
  assert.deepEqual(open(), ["c1"]);
});

test("messages that have not changed are not rendered again", async () => {
  relay.turns["c1"] = [turn("r0", "zero", [say("a0", "0")])];
  page = await mount(view("c1"));
  await asked(1);
  await relay.streams[0]!.send(snapshot("r1", 1, [startedWith("r1", "hi")]), synced("r1", 1));
  for (let i = 0; i < 5; i++) await relay.streams[0]!.send(event("r1", 2 + i, say("a1", "x")));
  assert.equal(page.text(), "livezero0hixxxxx");
  const times = (id: string) => renders[id];
  assert.equal(times("a1")! >= 5, true);
  assert.deepEqual(["user-r0", "a0", "user-r1"].map(times), [2, 2, 2], "once, which StrictMode doubles");
});

test("options that say the same in a new object keep the connection; others make a new one", async () => {
  page = await mount(view("c1"));
  await asked(1);
  for (let i = 0; i < 3; i++) await page.render(view("c1", { headers: { "X-App": "1" }, backoff: {}, onMetric: () => {}, token: () => `t${i}` }));
  const before = relay.streams.length;
  for (let i = 0; i < 3; i++) await page.render(view("c1", { headers: { "X-App": "1" }, backoff: {}, onMetric: () => {}, token: () => `t${i}` }));
  assert.equal(relay.streams.length, before);
  await page.render(view("c1", { headers: { "X-App": "2" } }));
  await asked(before + 1);
  assert.deepEqual([open(), relay.streams.at(-1)!.headers.get("X-App")], [["c1"], "2"]);
});

test("the newest of a function is used", async () => {
  const heard: string[] = [];
  const at = (n: number): UseRejoinOptions => ({ onMetric: (m) => { heard.push(`${n} ${m.type}`); } });
  page = await mount(view("c1", at(1)));
  await page.render(view("c1", at(2)));
  await asked(1);
  await relay.streams[0]!.send(snapshot("r1", 0, []), ended("r1", 0));
  assert.ok(heard.length > 0 && heard.every((m) => m.startsWith("2 ")), heard.join());
  assert.equal(relay.streams.filter((s) => s.chatId === "c1").length >= 1, true);
});

test("another chat is shown with nothing of the one before, and the connection goes along", async () => {
  relay.turns["c2"] = [turn("x1", "other", [])];
  page = await mount(view("c1"));
  await asked(1);
  await relay.streams[0]!.send(snapshot("r1", 1, [startedWith("r1", "hi")]), synced("r1", 1));
  const texts: string[] = [];
  const rendered = page.render(view("c2"));
  texts.push(page.text());
  await rendered;
  texts.push(page.text());
  await asked(2);
  assert.ok(texts.slice(1).every((t) => !t.includes("hi")), texts.join());
  await act(() => until(() => page!.text().includes("other")));
  assert.deepEqual([page.text(), open()], ["connectingother", ["c2"]]);
  await page.render(view("c1"));
  await page.render(view("c2"));
  await page.render(view("c1"));
  await asked(3);
  await act(() => until(() => open().at(-1) === "c1"));
  assert.deepEqual(open(), ["c1"]);
});

test("unmounting in mid-run leaves, and no chat is none", async () => {
  page = await mount(view("c1"));
  await asked(1);
  await relay.streams[0]!.send(snapshot("r1", 1, [startedWith("r1", "hi")]), synced("r1", 1));
  await page.render(view(null));
  await act(() => until(() => open().length === 0));
  assert.deepEqual([page.text(), hook.chatId], ["idle", null]);
  await page.render(view("c1"));
  await asked(2);
  await page.unmount();
  await until(() => open().length === 0);
  page = null;
});

test("a message can be sent, and is shown once", async () => {
  page = await mount(view("c1"));
  await asked(1);
  const { send } = hook;
  relay.runId = "r7";
  await act(async () => { assert.equal((await send("hello")).runId, "r7"); });
  assert.match(page.text(), /hello$/);
  assert.equal(hook.send, send, "the functions stay the same");
  await relay.streams.at(-1)!.send(snapshot("r7", 2, [startedWith("r7", "hello"), say("a7", " you")]), synced("r7", 2));
  assert.equal(page.text(), "livehello you");
  assert.equal(hook.busy, true);
});

test("on a server it is a chat that is being opened, which a browser takes over as it is", async () => {
  const html = renderToString(view("c1"));
  assert.match(html, /connecting/);
  assert.equal(relay.asked.length, 0);
  const complaints: unknown[] = [];
  page = await mount(view("c1"), html, complaints);
  await asked(1);
  assert.deepEqual(complaints, []);
  await page.unmount();
  assert.match(renderToString(view(null)), /idle/);
});
