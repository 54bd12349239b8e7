// Requests with their token, and what an answer that is an error means.
import { unless } from "./tell.js";
import { type Options, type Reason, RejoinError, type Token } from "./types.js";

/** The token's source has failed: another attempt may help. */
export class TokenError extends Error {}

export interface Requests {
  readonly options: Options;
  /** The token that requests are sent with now. */
  token(): Promise<Token>;
  /** Sends a request, a POST where it has a body, once more with a fresh token when the answer is 401. Rejects as fetch does, or with a TokenError. */
  send(path: string, body: unknown, signal: AbortSignal): Promise<Response>;
  /** Sends a request and gives its JSON. Rejects with a RejoinError. */
  json(path: string, body?: unknown): Promise<Record<string, unknown>>;
}

/** Sends the requests of one connection. */
export function requestsOf(options: Options): Requests {
  const { token: source, answerTimeout = 15_000 } = options;
  let token: Token;
  let known = false;
  let asking: Promise<Token> | null = null;

  /** The token to use, other than the one that was refused. Questions at the same time are one. */
  const tokenBut = async (refused?: { token: Token }): Promise<Token> => {
    if (typeof source !== "function") return source;
    if (known && (!refused || token !== refused.token)) return token;
    asking ??= (async () => {
      try {
        await null; // so that asking is set before it is cleared, whatever source does
        token = await source(!!refused);
        known = true;
        return token;
      } catch (cause) {
        throw new TokenError(String(cause));
      } finally {
        asking = null;
      }
    })();
    return asking;
  };

  const send: Requests["send"] = async (path, body, signal) => {
    for (let refused: { token: Token } | undefined; ; ) {
      const bearer = await tokenBut(refused);
      signal.throwIfAborted();
      const headers: Record<string, string> = { ...options.headers };
      if (body) headers["Content-Type"] = "application/json";
      if (bearer) headers["Authorization"] = `Bearer ${bearer}`;
      const response = await (options.fetch ?? fetch)((options.url ?? "") + path, {
        method: body ? "POST" : "GET", signal, headers, cache: "no-store", credentials: options.credentials!,
        body: JSON.stringify(body), // what is undefined is not there, for fetch
      });
      if (response.status !== 401 || refused || typeof source !== "function") return response;
      void response.body?.cancel().catch(() => {});
      refused = { token: bearer };
    }
  };

  const json: Requests["json"] = async (path, body) => {
    const signal = AbortSignal.timeout(answerTimeout);
    const ask = async () => {
      const response = await send(path, body, signal);
      if (!response.ok) throw await problemOf(response);
      return (await response.json()) as Record<string, unknown>;
    };
    try {
      return await unless(signal, ask());
    } catch (err) {
      if (err instanceof RejoinError) throw err;
      throw new RejoinError(signal.aborted ? "timeout" : err instanceof TokenError ? "unauthenticated" : "network", String(err));
    }
  };

  return { options, token: tokenBut, send, json };
}

async function problemOf(response: Response): Promise<RejoinError> {
  const { status } = response;
  const problem = { ...((await response.json().catch(() => null)) as Record<string, unknown> | null) }; // where it is a proxy's page, the status says enough
  return new RejoinError(String(problem["code"] ?? `http_${status}`), String(problem["detail"] ?? `HTTP ${status}`), status, problem);
}

const reasons: Readonly<Record<number | string, Reason>> = {
  401: "unauthenticated", 403: "forbidden", 404: "not_found", 429: "too_many", too_many_requests: "too_many", switched_off: "switched_off",
};

/** Why an answer to an attempt to watch is no stream, whether a repetition can not help, and after how many milliseconds it can at the earliest. */
export async function refusalOf(response: Response): Promise<{ reason: Reason; final: boolean; after: number; chats: unknown }> {
  const { status } = response;
  const { code, problem } = await problemOf(response);
  const passing = status >= 500 || [408, 425, 429].includes(status);
  return {
    reason: reasons[code] ?? reasons[status] ?? (passing ? "unavailable" : "refused"),
    final: !passing,
    after: Number(response.headers.get("Retry-After")) * 1000 || 0, // a date is not worth its parser: the client's own wait does
    chats: problem["chats"],
  };
}
