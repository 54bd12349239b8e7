// Readers of server-sent events as they come from npm, on /chat/live, protocol 1. Each comes back by its own means, and what
// it gets is put together by the rules of the protocol: a snapshot replaces, anything else follows.
import { say, told } from "./say.mjs";

const [kind, base, chat, run = ""] = process.argv.slice(2);
const seen = { texts: {}, run: "", seq: 0, events: [], snapshots: 0, connections: 0, end: undefined };

/** Takes one frame; the answer is whether it was the end. */
function take(data) {
  const frame = JSON.parse(data);
  if (frame.type === "STREAM_SNAPSHOT") {
    seen.snapshots++;
    seen.texts = {};
    frame.events.forEach(apply);
  } else if (frame.type === "STREAM_EVENT") {
    if (frame.seq !== seen.seq + 1) say("gap", [seen.seq, frame.seq]);
    apply(frame.event);
  } else if (frame.type === "STREAM_END") seen.end = frame;
  seen.run = frame.run_id;
  seen.seq = frame.seq;
  return frame.type === "STREAM_END";
}

function apply(event) {
  if (event.type !== "TEXT_MESSAGE_CONTENT") return;
  seen.texts[event.messageId] = (seen.texts[event.messageId] ?? "") + event.delta;
  if (event.delta.includes("HALF")) say("half");
}

const body = () => JSON.stringify({ chat_id: chat, protocol: 1, ...(seen.run && { run_id: seen.run, after_seq: seen.seq }) });

const readers = {
  async eventsource() {
    const { EventSource } = await import("eventsource");
    const source = new EventSource(`${base}/chat/live?chat_id=${encodeURIComponent(chat)}&run_id=${run}`);
    source.onopen = () => (seen.connections++, say("open"));
    await new Promise((over) => (source.onmessage = ({ data }) => take(data) && over()));
    source.close();
  },

  // It comes back with Last-Event-ID and the body that it was given first.
  async "fetch-event-source"() {
    const { Window } = await import("happy-dom");
    const window = new Window({ url: base + "/" });
    Object.assign(globalThis, { window, document: window.document });
    const { fetchEventSource } = await import("@microsoft/fetch-event-source");
    const over = new AbortController();
    await fetchEventSource(`${base}/chat/live`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: body(),
      signal: over.signal,
      fetch: globalThis.fetch,
      onopen: async (response) => {
        if (response.status !== 200) throw new Error(`status ${response.status}`);
        seen.connections++;
        say("open");
      },
      onmessage: ({ data }) => void (data && take(data) && over.abort()),
      onclose: () => {
        throw new Error("closed without an end"); // which makes it come back
      },
    });
    await window.happyDOM.close();
  },

  async "eventsource-parser"() {
    const { createParser } = await import("eventsource-parser");
    let over = false;
    while (!over) {
      const parser = createParser({ onEvent: ({ data }) => void (over = take(data) || over), onError: (error) => say("malformed", String(error)) });
      try {
        const response = await fetch(`${base}/chat/live`, { method: "POST", headers: { "content-type": "application/json" }, body: body() });
        seen.connections++;
        say("open");
        const decoder = new TextDecoder();
        for await (const chunk of response.body) parser.feed(decoder.decode(chunk, { stream: true }));
      } catch (error) {
        console.error("broken", error);
        await new Promise((again) => setTimeout(again, 100));
      }
    }
  },
};

await readers[kind]();
say("ended", seen);
await told();
