// A chat in React: one hook, over a Chat of its own.
import { useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { Chat, type ChatView } from "./chat.js";
import { empty } from "./chatview.js";
import type { Attach, Input, OpenOptions, Options, SendOptions, Sent } from "./types.js";

export type { ChatMessage, ChatView, Message, Question } from "./chat.js";

/** The options of a connection and, of OpenOptions, whether to follow the chat's next runs. */
export interface UseRejoinOptions extends Options, Pick<OpenOptions, "follow"> {}

/** What there is to show, and what can be done. The functions are the same for as long as the options are. */
export interface UseRejoin extends ChatView {
  readonly send: (input: Input, options?: SendOptions) => Promise<Sent>;
  readonly steer: (input: Input) => Promise<Sent>;
  readonly stop: () => Promise<void>;
  readonly answer: (requestId: string, outcome: Readonly<Record<string, unknown>>) => Promise<string | null>;
  readonly retry: () => Promise<Attach>;
}

/**
 * Shows a chat for as long as the component is mounted; null shows none. Options may be a new object for each render: a new
 * connection is made only when one of them says something else, and never for functions, of which the newest is used: give a
 * token that is refreshed as a function. On a server it is a chat that is being opened.
 */
export function useRejoin(chatId: string | null, options: UseRejoinOptions = {}): UseRejoin {
  const key = keyOf(options);
  const newest = useRef(options);
  useEffect(() => { newest.current = options; });
  // eslint-disable-next-line react-hooks/exhaustive-deps -- key stands for the options
  const mount = useMemo(() => mounting(new Chat(living(options, newest)), options.follow), [key, options.seed]);
  useEffect(() => () => mount.show(null), [mount]);
  useEffect(() => mount.show(chatId), [mount, chatId]);
  const view = useSyncExternalStore(mount.subscribe, mount.view, () => none);
  return useMemo(() => ({ ...(view.chatId === chatId ? view : empty(chatId)), ...mount.actions }), [view, chatId, mount]);
}

const none = empty(null);

interface Mount {
  /** Opens a chat, or leaves, once the effects of this commit are through: StrictMode takes its first ones back at once. */
  show(chatId: string | null): void;
  subscribe(listener: () => void): () => void;
  view(): ChatView;
  readonly actions: Omit<UseRejoin, keyof ChatView>;
}

function mounting(chat: Chat, follow: boolean | undefined): Mount {
  let wanted: string | null = null;
  let shown: string | null = null;
  const settle = () => {
    if (wanted === shown) return;
    shown = wanted;
    if (wanted === null) chat.close();
    else void chat.open(wanted, follow === undefined ? {} : { follow });
  };
  const ready = () => {
    settle();
    return chat;
  };
  return {
    show(chatId) {
      wanted = chatId;
      queueMicrotask(settle);
    },
    subscribe: (listener) => chat.subscribe(listener),
    view: () => chat.view,
    actions: {
      send: (input, options) => ready().send(input, options),
      steer: (input) => ready().steer(input),
      stop: () => ready().stop(),
      answer: (requestId, outcome) => ready().answer(requestId, outcome),
      retry: () => ready().retry(),
    },
  };
}

/** What makes one connection another: all options but functions, and the seed, which is told apart by its identity. */
function keyOf({ token, url, headers, credentials, attempts, backoff, answerTimeout, idleTimeout, maxMessage, tabs, follow }: UseRejoinOptions): string {
  const sorted = Object.entries(headers ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([typeof token === "function" || token, url, sorted, credentials, attempts, backoff?.first, backoff?.max, answerTimeout, idleTimeout, maxMessage, tabs, follow]);
}

/** Options whose functions are those of the newest render. */
function living({ follow: _, ...options }: UseRejoinOptions, newest: { readonly current: UseRejoinOptions }): Options {
  return {
    ...options,
    ...(typeof options.token === "function" && {
      token: (expired: boolean) => {
        const { token } = newest.current;
        return typeof token === "function" ? token(expired) : token;
      },
    }),
    fetch: (input, init) => (newest.current.fetch ?? fetch)(input, init),
    onChats: (chatId) => newest.current.onChats?.(chatId),
    onMetric: (metric) => newest.current.onMetric?.(metric),
  };
}
