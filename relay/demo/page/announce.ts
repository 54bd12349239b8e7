// Reads out what is whole. Tokens as they come would be read one by one, so the growing answer is silent.
import type { ChatView } from "../../../consumer/web/src/chat.js";
import { find, text } from "./dom.js";

const longest = 600; // characters: more can be read in the conversation

export function announcer(): (view: ChatView) => void {
  const target = find("announcer");
  let chat: string | null = null;
  let growing: string | null = null;
  return (view) => {
    if (view.chatId !== chat) growing = null;
    chat = view.chatId;
    const last = view.messages.findLast((m) => m.kind === "assistant");
    if (!last || last.kind !== "assistant") return;
    if (!last.complete) growing = last.id;
    if (!last.complete || growing !== last.id) return; // it was whole when it was seen first: that is history
    growing = null;
    text(target, `The agent has answered: ${last.text.slice(0, longest)}`);
  };
}
