// A page with useChat, in StrictMode, as an application writes it: the default transport, no options but the chat's id
// and resume. It does what it is told and says how the chat stands whenever that changes.
import { Window } from "happy-dom";
import { say, settle, told } from "./say.mjs";

const [base, id] = process.argv.slice(2);
const window = new Window({ url: base + "/" });
const wire = globalThis.fetch;
for (const [name, value] of Object.entries({ window, document: window.document, navigator: window.navigator }))
  Object.defineProperty(globalThis, name, { value, configurable: true });

// A browser's fetch: it takes a path, and says "network error" where Node's says "terminated", which useChat does not know.
// The requests are told, with what they were answered.
globalThis.fetch = async (path, options) => {
  const response = await wire(new URL(path, base), options);
  say("fetched", { method: options?.method ?? "GET", status: response.status });
  if (!response.body) return response;
  const from = response.body.getReader();
  const body = new ReadableStream({
    async pull(to) {
      try {
        const { done, value } = await from.read();
        if (done) to.close();
        else to.enqueue(value);
      } catch (error) {
        to.error(error.message === "terminated" ? new TypeError("network error") : error);
      }
    },
    cancel: (why) => from.cancel(why),
  });
  return new Response(body, response);
};

const { createElement, StrictMode, useEffect } = await import("react");
const { createRoot } = await import("react-dom/client");
const { useChat } = await import("@ai-sdk/react");
const { DefaultChatTransport, lastAssistantMessageIsCompleteWithToolCalls } = await import("ai");

let chat, root;
let log = { statuses: [], errors: [], finishes: [], data: [] };

const texts = () => chat.messages.map((m) => m.parts.filter((p) => p.type === "text").map((p) => p.text).join("")).join("");

// An application that says which run it was watching when it was cut off: a message's id is the run's.
const naming = new DefaultChatTransport({
  prepareReconnectToStreamRequest: ({ id, api }) => {
    const last = chat?.messages.at(-1);
    return { api: `${api}/${encodeURIComponent(id)}/stream` + (last?.role === "assistant" ? `?run_id=${last.id}` : "") };
  },
});

function Page({ messages, resume, named, tools }) {
  chat = useChat({
    id, resume, messages,
    ...(named && { transport: naming }),
    ...(tools && { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls }),
    onError: (error) => void log.errors.push(`${error.name}: ${error.message}`),
    onFinish: ({ isAbort, isDisconnect, isError, finishReason }) => void log.finishes.push({ isAbort, isDisconnect, isError, finishReason }),
    onData: (part) => void log.data.push(part),
  });
  const { status } = chat;
  const half = texts().includes("HALF");
  useEffect(() => {
    log.statuses.push(status);
    say("status", status);
    if (status === "error") say("broken");
    if (status === "ready" && log.statuses.length > 1 && chat.messages.at(-1)?.role === "assistant") say("ready");
  }, [status]);
  useEffect(() => void (half && say("half")), [half]);
  const asked = chat.messages.at(-1)?.parts.find((p) => p.state === "approval-requested")?.approval.id;
  const waits = chat.messages.at(-1)?.parts.find((p) => p.state === "input-available")?.toolCallId;
  useEffect(() => void (waits && say("waits", waits)), [waits]);
  useEffect(() => void (asked && say("asked", { id: asked, message: chat.messages.at(-1).id })), [asked]);
  return null;
}

function mount(props) {
  const page = window.document.createElement("div");
  window.document.body.appendChild(page);
  root = createRoot(page);
  log = { statuses: [], errors: [], finishes: [], data: [] };
  root.render(createElement(StrictMode, null, createElement(Page, props)));
}

for (let line; (line = await told()) !== undefined; ) {
  const [what, ...rest] = line.split(" ");
  const value = rest.length ? JSON.parse(rest.join(" ")) : undefined;
  switch (what) {
    case "mount":
      mount({ resume: true, messages: [], ...value });
      await settle();
      break;
    case "unmount":
      root.unmount();
      await settle();
      break;
    case "send":
      void chat.sendMessage({ text: value });
      break;
    case "regenerate":
      void chat.regenerate();
      break;
    case "output":
      void chat.addToolOutput(value);
      break;
    case "stop":
      await chat.stop();
      break;
    case "resume":
      for (let i = 0; i < value; i++) void chat.resumeStream();
      break;
    case "show": // the page comes to the front, as a phone's that was in a pocket
      window.document.dispatchEvent(new window.Event("visibilitychange"));
      break;
    case "state":
      await settle();
      say("state", { ...log, messages: chat.messages, status: chat.status });
      break;
  }
}
root?.unmount();
await window.happyDOM.close();
