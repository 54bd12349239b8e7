// One attempt to watch a run, over a connection of its own.
import { type Frame, Malformed, parseFrame } from "./frames.js";
import { refusalOf, type Requests, TokenError } from "./requests.js";
import { decoder } from "./sse.js";
import { unless } from "./tell.js";
import type { Reason } from "./types.js";

/** What an attempt asks for, as the body of POST /chat/live has it. */
export interface Ask {
  readonly chat_id: string;
  readonly run_id?: string | undefined;
  readonly after_seq?: number | undefined;
  /** The run whose end is known already: where no other is named, a newer one is waited for. */
  readonly ended_run_id?: string | undefined;
  readonly wait_ms: number;
}

/** Whom an attempt tells what arrives. */
export interface Ear {
  /** A frame; false where it was the last one to be taken. It may throw Malformed. */
  frame(f: Frame): boolean;
  /** Bytes have arrived. */
  heard(): void;
}

/** How an attempt ended. Without a reason there was nothing to watch, or the ear wanted no more. `after` is how many milliseconds the relay wants the client to stay away, at least. */
export interface Outcome {
  readonly nothing?: boolean; // 204
  readonly reason?: Reason;
  readonly final?: boolean; // another attempt is not going to help
  readonly after?: number;
  /** Of a shared stream: the places of the chats that are switched off. */
  readonly chats?: unknown;
}

/** Makes one attempt. It resolves when the stream is over, soon after signal is aborted, and never rejects. */
export type Source = (ask: Ask, ear: Ear, signal: AbortSignal) => Promise<Outcome>;

/** The source that asks POST /chat/live. */
export function direct(requests: Requests): Source {
  return (ask, ear, signal) => receive(requests, "/chat/live", { ...ask, protocol: 1, synced: true }, ask.wait_ms, (event, data) => {
    if (event && event !== "message") return true;
    const f = parseFrame(data);
    return !f || ear.frame(f);
  }, ear.heard, signal);
}

/** Posts a body and hands on the messages of the stream that answers it, until `take` returns false. */
export async function receive(
  requests: Requests, path: string, body: unknown, waitMs: number,
  take: (event: string, data: string) => boolean, heard: () => void, signal: AbortSignal,
): Promise<Outcome> {
  const { answerTimeout = 15_000, idleTimeout = 45_000, maxMessage = 64 << 20 } = requests.options;
  const abort = new AbortController();
  const stop = () => abort.abort();
  let late = false;
  let silence: ReturnType<typeof setTimeout>;
  const within = (ms: number) => {
    clearTimeout(silence);
    silence = setTimeout(() => { late = true; stop(); }, ms);
  };
  let some = false; // a message has come
  const sse = decoder(maxMessage);
  const broken = (reason: Reason, final = false): Outcome => ({ reason, final, after: sse.retry() });
  const listen = async (): Promise<Outcome> => {
    const response = await requests.send(path, body, abort.signal);
    if (response.status === 204) return { nothing: true };
    if (response.status !== 200) return await refusalOf(response);
    if (response.body && !/^text\/event-stream\b/i.test(response.headers.get("Content-Type") ?? "")) return broken("refused"); // a proxy's page
    const reader = response.body?.getReader();
    const text = new TextDecoder();
    while (reader) {
      abort.signal.throwIfAborted();
      heard();
      within(idleTimeout);
      const { done, value } = await reader.read();
      if (done || abort.signal.aborted) break;
      if (!sse.push(text.decode(value, { stream: true }), (event, data) => { some = true; return take(event, data); })) return {};
    }
    return broken(some ? "interrupted" : "empty");
  };
  try {
    within(waitMs + answerTimeout);
    signal.addEventListener("abort", stop);
    const outcome = unless(abort.signal, listen());
    if (signal.aborted) stop();
    return await outcome;
  } catch (err) {
    if (err instanceof RangeError) return broken("too_large", true);
    return broken(late ? "timeout" : err instanceof Malformed ? "malformed" : err instanceof TokenError ? "unauthenticated" : some ? "interrupted" : "network");
  } finally {
    clearTimeout(silence!);
    stop(); // closes the connection where there is more to come
  }
}
