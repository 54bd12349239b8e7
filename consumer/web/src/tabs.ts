// What the tabs of one origin tell each other.
import { tell } from "./tell.js";
import type { Options } from "./types.js";

export interface Tabs {
  /** The channel is open only while somebody listens: it would keep a page out of the back/forward cache. */
  open(): void;
  close(): void;
  /** The list of chats has changed: here, and everywhere. */
  changed(chatId: string): void;
}

export function tabsOf({ tabs = true, url = "", onChats }: Options): Tabs {
  let channel: BroadcastChannel | undefined;
  return {
    open() {
      if (channel || !tabs || typeof BroadcastChannel === "undefined") return;
      channel = new BroadcastChannel(`rejoin:${url}:chats`);
      channel.onmessage = ({ data }: MessageEvent<unknown>) => { if (typeof data === "string") tell(onChats, data); };
    },
    close() {
      channel?.close();
      channel = undefined;
    },
    changed(chatId) {
      channel?.postMessage(chatId);
      tell(onChats, chatId);
    },
  };
}
