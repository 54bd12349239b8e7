// Plays consumer/testdata/uimessages with the AI SDK: every chunk has to be one that it knows, and the message that they
// make is printed, with what a chat was told.
import { readFileSync } from "node:fs";
import { Chat } from "@ai-sdk/react";
import { DefaultChatTransport, uiMessageChunkSchema } from "ai";
import { say } from "./say.mjs";

const schema = typeof uiMessageChunkSchema === "function" ? uiMessageChunkSchema() : uiMessageChunkSchema;
for (const path of process.argv.slice(2)) {
  const vector = JSON.parse(readFileSync(path, "utf8"));
  for (const chunk of vector.chunks) {
    const checked = await schema.validate(chunk);
    if (!checked.success) say("unknown", { name: vector.name, chunk });
  }
  const body = vector.chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("") + "data: [DONE]\n\n";
  const transport = new DefaultChatTransport({ api: "http://relay/api/chat", fetch: async () => new Response(body, { headers: { "content-type": "text/event-stream" } }) });
  let error, finish;
  const data = [];
  const chat = new Chat({
    id: "c", transport,
    onError: (e) => (error = e.message),
    onFinish: ({ finishReason, isError }) => (finish = { finishReason, isError }),
    onData: (part) => data.push(part.type),
  });
  await chat.sendMessage({ text: "hi" });
  say("played", { name: vector.name, messages: chat.messages.slice(1), error, finish, data, status: chat.status });
}
say("done");
