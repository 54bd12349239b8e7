// A page for React, and a relay behind a fetch that does as a test says.
import { Window } from "happy-dom";
import { createElement, StrictMode, type ReactNode } from "react";
import type { Root } from "react-dom/client";
import type { Event, Turn } from "../src/types.js";

const page = new Window({ url: "https://app.example/" });
for (const [name, value] of Object.entries({ window: page, document: page.document, navigator: page.navigator, IS_REACT_ACT_ENVIRONMENT: true })) {
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
}

const { act } = await import("react");
const { createRoot, hydrateRoot } = await import("react-dom/client");
export { act };

export interface Page {
  readonly text: () => string;
  readonly render: (node: ReactNode) => Promise<void>;
  readonly unmount: () => Promise<void>;
}

/** Renders within StrictMode; with `html`, onto what a server has rendered. */
export async function mount(node: ReactNode, html?: string, complaints: unknown[] = []): Promise<Page> {
  const place = page.document.createElement("div") as unknown as HTMLElement;
  const strict = (n: ReactNode) => createElement(StrictMode, null, n);
  const onRecoverableError = (err: unknown) => { complaints.push(err); };
  let root: Root | undefined;
  await act(async () => {
    if (html === undefined) (root = createRoot(place)).render(strict(node));
    else {
      place.innerHTML = html;
      root = hydrateRoot(place, strict(node), { onRecoverableError });
    }
  });
  return {
    text: () => place.textContent ?? "",
    render: (n) => act(async () => root!.render(strict(n))),
    unmount: () => act(async () => root!.unmount()),
  };
}

/** One answer to /chat/live. */
export interface Stream {
  readonly chatId: string;
  readonly headers: Headers;
  readonly open: () => boolean;
  readonly send: (...frames: readonly Record<string, unknown>[]) => Promise<void>;
}

export interface Script {
  readonly fetch: typeof fetch;
  readonly streams: Stream[];
  readonly asked: string[];
  /** What chats have, by their ids, and what a send is answered with. */
  readonly turns: Record<string, readonly Turn[]>;
  runId: string;
}

export function script(): Script {
  const own: Script = {
    streams: [], asked: [], turns: {}, runId: "r1",
    fetch: async (input, init = {}) => {
      const path = new URL(String(input), "https://app.example").pathname;
      own.asked.push(path);
      if (path === "/chat/live") return live(own, init);
      const chat = /^\/chat\/(.*)\/history$/.exec(path)?.[1];
      if (chat !== undefined) return Response.json({ turns: own.turns[decodeURIComponent(chat)] ?? [] });
      return Response.json({ chat_id: "c", turn_id: "t", run_id: own.runId }, { status: 202 });
    },
  };
  return own;
}

function live(own: Script, { signal, body, headers }: RequestInit): Response {
  const { chat_id: chatId } = JSON.parse(String(body)) as { chat_id: string };
  let closed = false;
  let out: ReadableStreamDefaultController<Uint8Array>;
  const stream = new ReadableStream<Uint8Array>({ start(c) { out = c; }, cancel() { closed = true; } });
  signal?.addEventListener("abort", () => {
    if (!closed) out.error(signal.reason);
    closed = true;
  });
  own.streams.push({
    chatId, headers: new Headers(headers), open: () => !closed,
    send: (...frames) => act(async () => {
      for (const f of frames) out.enqueue(new TextEncoder().encode(`id: ${String(f["run_id"])}:${String(f["seq"])}\ndata: ${JSON.stringify(f)}\n\n`));
      await until(() => true); // the frames are read in the tasks that follow
    }),
  });
  return new Response(stream, { headers: { "Content-Type": "text/event-stream" } });
}

/** Waits, a few tasks at least, until something is so. */
export async function until(is: () => boolean): Promise<void> {
  for (let i = 0; i < 5 || !is(); i++) {
    if (i > 2000) throw new Error("it did not come to be");
    await new Promise((resolve) => setTimeout(resolve, i < 5 ? 0 : 5));
  }
}

export const snapshot = (run_id: string, seq: number, events: readonly Event[]) => ({ type: "STREAM_SNAPSHOT", run_id, seq, events });
export const event = (run_id: string, seq: number, e: Event) => ({ type: "STREAM_EVENT", run_id, seq, event: e });
export const synced = (run_id: string, seq: number) => ({ type: "STREAM_SYNCED", run_id, seq });
export const ended = (run_id: string, seq: number) => ({ type: "STREAM_END", run_id, seq, persisted: true, superseded: false, reason: "done" });
