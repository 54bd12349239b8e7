import assert from "node:assert/strict";
import { test } from "node:test";
import type { UIMessage } from "ai";
import { lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";
import { Window } from "happy-dom";
import type { Event } from "../src/index.js";
import { RejoinTransport } from "../src/ai.js";
import { answer, Relay, until } from "./agui-relay.js";

const page = new Window({ url: "http://app/" });
for (const [name, value] of Object.entries({ window: page, document: page.document, navigator: page.navigator, HTMLElement: page.HTMLElement })) {
  Object.defineProperty(globalThis, name, { value, configurable: true }); // some are read-only in newer versions of Node
}
const { createElement: h, StrictMode, useEffect } = await import("react");
const { createRoot } = await import("react-dom/client");
const { useChat } = await import("@ai-sdk/react");
type Hook = ReturnType<typeof useChat>;

const chatId = "chat";
const pieces = ["Once ", "upon ", "a ", "time."];
const whole = pieces.join("");

interface App {
  readonly hook: () => Hook;
  /** StrictMode mounts a page twice; useChat stops what was sent before that is over. */
  readonly mounted: () => boolean;
  readonly errors: unknown[];
  readonly finished: { readonly isAbort: boolean; readonly isError: boolean }[];
  unmount(): void;
}

/** A page with one chat, in StrictMode, as an application has it. */
function mount(transport: RejoinTransport, options: Partial<Parameters<typeof useChat>[0]> & { messages?: UIMessage[]; resume?: boolean } = {}): App {
  let now: Hook | undefined;
  let mounts = 0;
  const errors: unknown[] = [];
  const finished: { isAbort: boolean; isError: boolean }[] = [];
  function Page(): null {
    now = useChat({
      id: chatId, transport, onError: (error: unknown) => void errors.push(error),
      onFinish: ({ isAbort, isError }: { isAbort: boolean; isError: boolean }) => void finished.push({ isAbort, isError }), ...options,
    } as Parameters<typeof useChat>[0]);
    useEffect(() => { mounts++; }, []);
    return null;
  }
  const root = createRoot(page.document.createElement("div") as unknown as Element);
  root.render(h(StrictMode, null, h(Page)));
  return {
    hook: () => {
      assert.ok(now);
      return now;
    },
    mounted: () => mounts === 2,
    errors, finished,
    unmount: () => root.unmount(),
  };
}

function transportTo(relay: Relay): RejoinTransport {
  return new RejoinTransport({ url: "http://relay", fetch: relay.fetch, tabs: false, backoff: { first: 1, max: 5 }, answerTimeout: 500 });
}

function said(hook: Hook): string[] {
  return hook.messages.map(({ role, parts }) => `${role}: ${parts.map((part) => (part.type === "text" ? part.text : "")).join("")}`);
}

const rendered = (app: App): Promise<void> => until(app.mounted, "the page");

const user = (id: string, text: string): UIMessage => ({ id, role: "user", parts: [{ type: "text", text }] });
const assistant = (id: string, text: string): UIMessage => ({ id, role: "assistant", parts: [{ type: "text", text }] });

test("useChat sends, survives a cut, and shows the answer once", async () => {
  const relay = new Relay();
  relay.onSend = (run) => relay.say(run, ...answer(run, chatId, pieces).slice(0, 4));
  const app = mount(transportTo(relay));
  await rendered(app);
  void app.hook().sendMessage({ text: "hello" });
  await until(() => said(app.hook())[1] === "assistant: Once upon ");
  relay.cut();
  relay.say("run-1", ...answer("run-1", chatId, pieces).slice(4));
  await until(() => said(app.hook())[1] === `assistant: ${whole}`);
  assert.equal(app.hook().status, "streaming");
  relay.end("run-1");
  await until(() => app.hook().status === "ready");
  assert.deepEqual(said(app.hook()), ["user: hello", `assistant: ${whole}`]);
  assert.equal(relay.asked("/chat/send"), 1);
  app.unmount();
});

test("DUP-01 DUP-02 resumed twice in StrictMode, the text is shown once, beside the history", async () => {
  const relay = new Relay();
  const run = relay.begin(chatId);
  relay.say(run, ...answer(run, chatId, pieces).slice(0, 4));
  const app = mount(transportTo(relay), { resume: true, messages: [user("u1", "one"), assistant("a1", "first"), user("u2", "two")] });
  await rendered(app);
  await until(() => said(app.hook())[3] === "assistant: Once upon ");
  void app.hook().resumeStream();
  void app.hook().resumeStream();
  await until(() => relay.open === 1);
  relay.snapshot();
  relay.cut();
  relay.say(run, ...answer(run, chatId, pieces).slice(4));
  await until(() => said(app.hook())[3] === `assistant: ${whole}`);
  relay.end(run);
  await until(() => app.hook().status === "ready");
  assert.deepEqual(said(app.hook()), ["user: one", "assistant: first", "user: two", `assistant: ${whole}`]);
  assert.equal(app.hook().messages[3]?.id, run);
  assert.deepEqual(app.errors, []);
  app.unmount();
});

test("HANG-02 resumed in an idle chat: no finish, no error, no circle", async () => {
  const relay = new Relay();
  const app = mount(transportTo(relay), { resume: true, messages: [user("u1", "one"), assistant("a1", "first")] });
  await rendered(app);
  await until(() => relay.asked("/chat/live") > 0 && app.hook().status === "ready");
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.ok(relay.asked("/chat/live") <= 2);
  assert.deepEqual([app.finished, app.errors], [[], []]);
  assert.deepEqual(said(app.hook()), ["user: one", "assistant: first"]);
  app.unmount();
});

test("SEND-02 a superseded answer ends in an error, and the next one is shown by resuming", async () => {
  const relay = new Relay();
  relay.onSend = (run) => relay.say(run, ...answer(run, chatId, ["old"]).slice(0, 3));
  const app = mount(transportTo(relay));
  await rendered(app);
  void app.hook().sendMessage({ text: "hello" });
  await until(() => said(app.hook()).length === 2);
  const next = relay.begin(chatId);
  relay.say(next, ...answer(next, chatId, ["new"]));
  await until(() => app.hook().status === "error");
  assert.match(String(app.hook().error), /a newer run took the chat/);
  void app.hook().resumeStream();
  await until(() => said(app.hook())[2] === "assistant: new");
  relay.end(next);
  await until(() => app.hook().status === "ready");
  assert.deepEqual(said(app.hook()), ["user: hello", "assistant: old", "assistant: new"]);
  app.unmount();
});

/** A run that asks about a tool call, and what it says once it is answered. */
function asking(relay: Relay, result: boolean): (run: string) => void {
  relay.onAnswer = (run, requestId, outcome) => {
    const after: Event[] = [
      { type: "CUSTOM", name: "demo.permission.resolved", value: { requestId, status: "selected", outcome } },
      ...(result ? [{ type: "TOOL_CALL_RESULT", messageId: "m-c1", toolCallId: "c1", content: "removed", role: "tool" }] : []),
      ...answer(run, chatId, pieces).slice(1),
    ];
    relay.say(run, ...after);
    relay.end(run);
    return undefined;
  };
  return (run) => relay.say(run, { type: "RUN_STARTED", threadId: chatId, runId: run },
    { type: "TEXT_MESSAGE_START", messageId: "t0", role: "assistant" }, { type: "TEXT_MESSAGE_CONTENT", messageId: "t0", delta: "I ask: " },
    { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "rm" }, { type: "TOOL_CALL_ARGS", toolCallId: "c1", delta: "{\"path\":\"x\"}" }, { type: "TOOL_CALL_END", toolCallId: "c1" },
    { type: "CUSTOM", name: "demo.permission.request", value: {
      requestId: "q1", messageId: "q-q1", status: "pending", toolCallId: "c1",
      options: [{ optionId: "never", name: "No", kind: "reject_once" }, { optionId: "sure", name: "Yes", kind: "allow_once" }],
    } });
}

for (const [how, approved, result] of [["sent", true, true], ["sent", false, false], ["resumed", true, false], ["loaded", true, true]] as const) {
  test(`an approval in useChat is the run's answer (${how}, ${approved ? "yes" : "no"}, ${result ? "with" : "without"} a result)`, async () => {
    const relay = new Relay();
    const begin = asking(relay, result);
    relay.onSend = begin;
    let transport = transportTo(relay);
    let app = mount(transport, { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses });
    await rendered(app);
    void app.hook().sendMessage({ text: "remove x" });
    const asked = (): boolean => app.hook().status === "ready" && app.hook().messages.at(-1)?.parts.some((part) => part.type === "dynamic-tool" && part.state === "approval-requested") === true;
    await until(asked, "the question");
    if (how !== "sent") {
      const messages = app.hook().messages;
      app.unmount();
      transport.close();
      await until(() => relay.open === 0);
      transport = transportTo(relay);
      app = mount(transport, { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses, messages: how === "loaded" ? messages : messages.slice(0, 1), resume: how === "resumed" });
      await rendered(app);
      await until(asked, "the question again");
    }
    await app.hook().addToolApprovalResponse({ id: "q1", approved });
    await until(() => said(app.hook())[1] === `assistant: I ask: ${whole}` && app.hook().status === "ready", "the answer");
    const answers = relay.requests.filter(({ path }) => path === "/chat/answer");
    assert.deepEqual(answers.map(({ body }) => body["outcome"]), [{ outcome: "selected", optionId: approved ? "sure" : "never" }]);
    const tool = app.hook().messages[1]?.parts.find((part) => part.type === "dynamic-tool");
    assert.equal(tool?.state, approved ? "output-available" : "output-denied");
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(app.hook().messages.length, 2);
    assert.equal(relay.asked("/chat/send"), 1);
    assert.deepEqual(app.errors, []);
    app.unmount();
    transport.close();
  });
}

test("an approval that was answered in another tab goes on with what won", async () => {
  const relay = new Relay();
  relay.onSend = asking(relay, true);
  const transport = transportTo(relay);
  const app = mount(transport, { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses });
  await rendered(app);
  void app.hook().sendMessage({ text: "remove x" });
  await until(() => app.hook().status === "ready" && app.hook().messages.length === 2);
  relay.onAnswer("run-1", "q1", { outcome: "selected", optionId: "never" });
  await until(() => relay.open === 0);
  await app.hook().addToolApprovalResponse({ id: "q1", approved: true });
  await until(() => said(app.hook())[1] === `assistant: I ask: ${whole}` && app.hook().status === "ready");
  assert.equal(relay.asked("/chat/answer"), 0);
  app.unmount();
});

test("a tool's output from the client is a turn, whose answer goes on with the message", async () => {
  const relay = new Relay();
  relay.onSend = (run) => {
    if (run === "run-1") {
      relay.say(run, { type: "RUN_STARTED" }, { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "where" }, { type: "TOOL_CALL_END", toolCallId: "c1" }, { type: "RUN_FINISHED" });
    } else {
      relay.say(run, ...answer(run, chatId, pieces));
    }
    relay.end(run);
  };
  const app = mount(transportTo(relay));
  await rendered(app);
  void app.hook().sendMessage({ text: "where am I?" });
  await until(() => app.hook().status === "ready" && app.hook().messages.length === 2);
  await app.hook().addToolOutput({ tool: "where", toolCallId: "c1", output: "here" });
  void app.hook().sendMessage();
  await until(() => said(app.hook())[1] === `assistant: ${whole}` && app.hook().status === "ready");
  const input = relay.requests.filter(({ path }) => path === "/chat/send")[1]?.body["input"] as { messages: { role: string; content?: unknown }[] };
  assert.deepEqual(input.messages.map(({ role, content }) => [role, content]), [["user", "where am I?"], ["assistant", undefined], ["tool", "here"]]);
  app.unmount();
});
