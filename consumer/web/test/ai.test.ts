import assert from "node:assert/strict";
import { test } from "node:test";
import { readUIMessageStream } from "ai";
import type { UIMessage, UIMessageChunk } from "ai";
import { RejoinTransport } from "../src/ai.js";
import type { RejoinTransportOptions } from "../src/ai.js";
import { answer, Relay, until } from "./agui-relay.js";

const chatId = "chat";
const pieces = ["Once ", "upon ", "a ", "time."];
const whole = pieces.join("");
const question: UIMessage = { id: "u1", role: "user", parts: [{ type: "text", text: "hello" }] };

function transport(relay: Relay, options: RejoinTransportOptions = {}): RejoinTransport {
  return new RejoinTransport({ url: "http://relay", fetch: relay.fetch, tabs: false, backoff: { first: 1, max: 5 }, answerTimeout: 500, ...options });
}

function sending(messages: UIMessage[] = [question], abortSignal?: AbortSignal): Parameters<RejoinTransport["sendMessages"]>[0] {
  return { trigger: "submit-message", chatId, messageId: undefined, messages, abortSignal };
}

interface Reading {
  readonly chunks: UIMessageChunk[];
  /** What the stream failed with, undefined for a proper end. */
  readonly done: Promise<unknown>;
}

function read(stream: ReadableStream<UIMessageChunk>): Reading {
  const chunks: UIMessageChunk[] = [];
  const reader = stream.getReader();
  const done = (async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return undefined;
      chunks.push(value);
    }
  })().catch((error: unknown) => error);
  return { chunks, done };
}

async function textOf(chunks: readonly UIMessageChunk[]): Promise<string> {
  const stream = new ReadableStream<UIMessageChunk>({
    start(out) {
      for (const chunk of chunks) out.enqueue(chunk);
      out.close();
    },
  });
  let last: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream })) last = message;
  return (last?.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");
}

const kinds = (chunks: readonly UIMessageChunk[]): string[] => chunks.map(({ type }) => type);

test("a message is a turn with an AG-UI input", async () => {
  const relay = new Relay();
  relay.onSend = (run) => {
    relay.say(run, ...answer(run, chatId, pieces));
    relay.end(run);
  };
  const it = transport(relay, { headers: { a: "1" }, token: "secret" });
  const messages: UIMessage[] = [
    { id: "s", role: "system", parts: [{ type: "text", text: "be brief" }] },
    { id: "u0", role: "user", parts: [{ type: "text", text: "look" }, { type: "file", mediaType: "image/png", filename: "x.png", url: "data:image/png;base64,AAAA" }] },
    {
      id: "a0", role: "assistant", parts: [
        { type: "step-start" }, { type: "reasoning", text: "hm" }, { type: "text", text: "I look" },
        { type: "dynamic-tool", toolName: "eye", toolCallId: "c1", state: "output-available", input: { n: 1 }, output: { saw: true } },
        { type: "dynamic-tool", toolName: "ear", toolCallId: "c2", state: "input-available", input: {} },
        { type: "text", text: "seen" },
      ],
    },
    question,
  ];
  const { chunks, done } = read(await it.sendMessages({ ...sending(messages), headers: { b: "2" }, body: { model: "m" } }));
  assert.equal(await done, undefined);
  assert.equal(await textOf(chunks), whole);
  assert.deepEqual(chunks[0], { type: "start", messageId: "run-1" });
  assert.equal(kinds(chunks).at(-1), "finish");
  const [sent] = relay.requests.filter(({ path }) => path === "/chat/send");
  assert.deepEqual([sent?.headers.get("a"), sent?.headers.get("b"), sent?.headers.get("authorization")], ["1", "2", "Bearer secret"]);
  assert.equal(sent?.body["on_active"], "supersede");
  const { runId: _, ...input } = sent?.body["input"] as Record<string, unknown>;
  assert.deepEqual(input, {
    threadId: chatId, state: {}, tools: [], context: [], forwardedProps: { model: "m", trigger: "submit-message" }, protocolVersion: "1.0",
    messages: [
      { id: "s", role: "system", content: "be brief" },
      { id: "u0", role: "user", content: [{ type: "text", text: "look" }, { type: "image", source: { type: "data", value: "AAAA", mimeType: "image/png" }, metadata: { filename: "x.png" } }] },
      { id: "a0", role: "assistant", content: "I look", toolCalls: [{ id: "c1", type: "function", function: { name: "eye", arguments: '{"n":1}' } }] },
      { id: "result-c1", role: "tool", content: '{"saw":true}', toolCallId: "c1" },
      { id: "a0-2", role: "assistant", content: "seen" },
      { id: "u1", role: "user", content: "hello" },
    ],
  });
});

test("the kind says whether an answer is regenerated or a message edited", async () => {
  const relay = new Relay();
  relay.onSend = (run) => relay.end(run);
  const it = transport(relay, { kind: "canvas" });
  for (const request of [sending(), { ...sending(), trigger: "regenerate-message" as const }, { ...sending(), messageId: "u1" }]) {
    await read(await it.sendMessages(request)).done;
  }
  assert.deepEqual(relay.requests.filter(({ path }) => path === "/chat/send").map(({ body }) => body["kind"]), ["canvas", "retry", "edit"]);
});

test("TERM-06 an answer survives cuts, repetitions and snapshots in mid-stream", async () => {
  for (const snapshots of [false, true]) {
    const relay = new Relay();
    let run = "";
    relay.onSend = (id) => { run = id; };
    relay.snapshots = snapshots;
    const { chunks, done } = read(await transport(relay).sendMessages(sending()));
    for (const event of answer("r", chatId, pieces)) {
      await until(() => relay.open === 1);
      relay.say(run, event);
      relay.repeat(2);
      if (snapshots) relay.snapshot();
      await until(() => relay.open === 1);
      relay.cut(!snapshots);
    }
    await until(() => relay.open === 1);
    relay.end(run);
    assert.equal(await done, undefined);
    assert.equal(await textOf(chunks), whole);
    assert.equal(kinds(chunks).filter((type) => type === "text-start").length, 1);
    assert.equal(relay.asked("/chat/send"), 1);
  }
});

test("SEND-02 supersession, loss and persisted false with a failed save are errors; what was told is read first", async () => {
  for (const [end, text] of [
    [{ persisted: false, superseded: true, reason: "superseded" }, "a newer run took the chat"],
    [{ persisted: false, reason: "save_failed" }, "the answer was not saved"],
    [{ persisted: false, reason: "abandoned" }, "the agent was lost before it finished"],
  ] as const) {
    const relay = new Relay();
    relay.onSend = (run) => {
      relay.say(run, ...answer(run, chatId, pieces));
      relay.end(run, end);
    };
    const { chunks, done } = read(await transport(relay).sendMessages(sending()));
    assert.equal(await done, undefined);
    assert.deepEqual(chunks.at(-1), { type: "error", errorText: text });
    assert.ok(!kinds(chunks).includes("finish"));
  }
  const relay = new Relay();
  relay.onSend = (run) => relay.say(run, ...answer(run, chatId, pieces).slice(0, 4));
  const { chunks, done } = read(await transport(relay).sendMessages(sending()));
  await until(() => chunks.length > 3);
  relay.intercept = () => new Response(null, { status: 204 });
  relay.cut();
  assert.equal((await done as { code: string }).code, "gone");
  assert.equal(kinds(chunks).at(-1), "text-end");
});

test("HANG-02 reconnectToStream: null where there is nothing, an error where nobody knows, else all from the beginning", async () => {
  const relay = new Relay();
  const it = transport(relay);
  assert.equal(it.resumeStreamIsReplay, true);
  assert.equal(await it.reconnectToStream({ chatId }), null);
  assert.equal(relay.asked("/chat/live"), 1);
  const run = relay.begin(chatId);
  relay.say(run, ...answer(run, chatId, pieces).slice(0, 4));
  const stream = await it.reconnectToStream({ chatId });
  assert.ok(stream);
  const { chunks, done } = read(stream);
  await until(() => chunks.length > 0);
  relay.cut();
  relay.say(run, ...answer(run, chatId, pieces).slice(4));
  relay.end(run);
  assert.equal(await done, undefined);
  assert.deepEqual(chunks[0], { type: "start", messageId: run });
  assert.equal(await textOf(chunks), whole);
  assert.equal(await it.reconnectToStream({ chatId }), null);
  relay.intercept = () => { throw new TypeError("network error"); };
  await assert.rejects(it.reconnectToStream({ chatId }), { code: "network" });
});

test("aborting leaves the run, and with stopOnAbort stops it, unless a resume takes its place", async () => {
  for (const stopOnAbort of [false, true]) {
    const relay = new Relay();
    relay.onSend = (run) => relay.say(run, ...answer(run, chatId, pieces).slice(0, 4));
    const slow: typeof fetch = async (...request) => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return relay.fetch(...request);
    };
    const it = transport(relay, { stopOnAbort, fetch: slow });
    const first = new AbortController();
    const one = read(await it.sendMessages(sending([question], first.signal)));
    await until(() => one.chunks.length > 3);
    first.abort();
    const second = new AbortController();
    const again = await it.reconnectToStream({ chatId, abortSignal: second.signal });
    assert.equal((await one.done as Error).name, "AbortError");
    assert.ok(again);
    const two = read(again);
    await until(() => two.chunks.length > 3 && relay.open === 1);
    assert.equal(relay.asked("/chat/stop"), 0);
    second.abort();
    assert.equal((await two.done as Error).name, "AbortError");
    await until(() => relay.open === 0 && (!stopOnAbort || relay.asked("/chat/stop") > 0));
    assert.equal(relay.asked("/chat/stop"), stopOnAbort ? 1 : 0);
  }
});

test("stop stops the run; cancelling a stream and close leave it", async () => {
  const relay = new Relay();
  relay.onSend = (run) => relay.say(run, ...answer(run, chatId, pieces).slice(0, 4));
  const it = transport(relay);
  const { chunks, done } = read(await it.sendMessages(sending()));
  await until(() => chunks.length > 3);
  await it.stop(chatId);
  assert.equal(await done, undefined);
  assert.deepEqual(chunks.at(-1), { type: "abort", reason: "stopped" });
  const stream = await it.sendMessages(sending());
  await until(() => relay.open === 1);
  await stream.cancel();
  await until(() => relay.open === 0);
  const last = read((await it.reconnectToStream({ chatId }))!);
  it.close();
  assert.equal((await last.done as Error).name, "AbortError");
  await until(() => relay.open === 0);
  assert.equal(relay.asked("/chat/stop"), 1);
});

test("a message that is refused is an error, and one whose acknowledgement is lost is not sent twice", async () => {
  const relay = new Relay();
  relay.intercept = ({ path }) => (path === "/chat/send" ? new Response(JSON.stringify({ code: "too_many_requests" }), { status: 429 }) : undefined);
  await assert.rejects(transport(relay).sendMessages(sending()), { code: "too_many_requests" });
  relay.onSend = (run) => relay.say(run, ...answer(run, chatId, pieces));
  relay.intercept = (request) => {
    if (request.path !== "/chat/send") return undefined;
    relay.intercept = () => undefined;
    void relay.fetch("http://relay/chat/send", { body: JSON.stringify(request.body) });
    throw new TypeError("network error");
  };
  const { chunks, done } = read(await transport(relay).sendMessages(sending()));
  relay.end("run-1");
  assert.equal(await done, undefined);
  assert.equal(await textOf(chunks), whole);
});

test("an answer from outside: of the run that is watched, and of one that is named", async () => {
  const relay = new Relay();
  const answers: unknown[] = [];
  relay.onAnswer = (run, request, outcome) => {
    answers.push([run, request, outcome]);
    return "next";
  };
  relay.onSend = (run) => relay.say(run, { type: "RUN_STARTED" });
  const it = transport(relay);
  const { chunks } = read(await it.sendMessages(sending()));
  await until(() => chunks.length > 0);
  assert.equal(await it.answer(chatId, "q1", { action: "decline" }), "next");
  relay.end("run-1");
  assert.equal(await it.answer(chatId, "i1", { yes: true }, "run-1"), "next");
  assert.deepEqual(answers, [["run-1", "q1", { action: "decline" }], ["run-1", "i1", { yes: true }]]);
  await assert.rejects(it.answer(chatId, "i1", {}), { code: "no_run" });
});
