// The list of chats. Each is a link, so that it can be opened in another tab.
import type { Active } from "./active.js";
import type { Book, Entry } from "./book.js";
import { attribute, el, text } from "./dom.js";

export interface Sidebar {
  draw(open: string): void;
}

/** choose is called with the chat that is clicked. */
export function sidebar(target: HTMLElement, book: Book, active: () => Active | null, choose: (chatId: string) => void): Sidebar {
  const items = new Map<string, Item>();
  target.addEventListener("click", (e) => {
    const link = e.target instanceof Element ? e.target.closest("a") : null;
    const chat = link?.closest("li")?.dataset["chat"];
    if (!chat || e.metaKey || e.ctrlKey || e.shiftKey || e.button !== 0) return; // another tab or window
    e.preventDefault();
    choose(chat);
  });
  return {
    draw(open) {
      const entries = book.entries.some((e) => e.id === open) ? book.entries : [{ id: open, title: "", at: 0 }, ...book.entries];
      let place: Element | null = target.firstElementChild;
      for (const entry of entries) {
        let item = items.get(entry.id);
        if (!item) items.set(entry.id, (item = newItem(entry)));
        if (place === item.node) place = place.nextElementSibling;
        else target.insertBefore(item.node, place);
        item.draw(entry, entry.id === open, active()?.of(entry.id));
      }
      for (const [id, item] of items) {
        if (entries.some((e) => e.id === id)) continue;
        item.node.remove();
        items.delete(id);
      }
    },
  };
}

interface Item {
  readonly node: HTMLElement;
  draw(entry: Entry, open: boolean, state: string | undefined): void;
}

const states: Readonly<Record<string, string>> = { queued: "queued", running: "answering", waiting: "asks you", finishing: "saving" };

function newItem(entry: Entry): Item {
  const title = el("span", { class: "chat-title" });
  const state = el("span", { class: "chat-state" });
  const link = el("a", { href: addressOf(entry.id) }, title, " ", state);
  const node = el("li", { "data-testid": "chat-item", "data-chat": entry.id }, link);
  return {
    node,
    draw(now, open, run) {
      text(title, titleOf(now));
      text(state, run ? states[run] ?? run : "");
      attribute(node, "data-active", run !== undefined);
      attribute(link, "title", titleOf(entry)); // a long one is cut
      attribute(link, "aria-current", open ? "page" : undefined);
    },
  };
}

export function titleOf(entry: Entry): string {
  return entry.title || (entry.id.startsWith("chat-") ? "New chat" : entry.id);
}

/** Where a chat is. */
export function addressOf(chatId: string): string {
  return "/demo?" + new URLSearchParams({ chat: chatId }).toString();
}
