// The chats that this browser knows, the newest first. All tabs share them.
import { fields, list, number, string } from "./json.js";

export interface Entry {
  readonly id: string;
  readonly title: string;
  readonly at: number;
}

export interface Book {
  readonly entries: readonly Entry[];
  /** Notes a chat, and what it is called if it has no name yet. The newest is on top if it was used. */
  note(id: string, title?: string, used?: boolean): void;
}

const key = "rejoin-demo-chats";
const most = 60; // more than anybody looks through
const longest = 60; // characters of a title

/** onChange is called when another tab has changed the book. */
export function openBook(onChange: () => void): Book {
  let entries = read();
  addEventListener("storage", (e) => {
    if (e.key !== key && e.key !== null) return;
    entries = read();
    onChange();
  });
  return {
    get entries() { return entries; },
    note(id, title, used = false) {
      const all = read(); // another tab may have written meanwhile
      const old = all.find((e) => e.id === id);
      if (old && !used && (!title || old.title)) {
        entries = all;
        return;
      }
      const named = old?.title || (title ?? "").trim().replace(/\s+/g, " ").slice(0, longest);
      const entry: Entry = { id, title: named, at: !old || used ? Date.now() : old.at };
      entries = [entry, ...all.filter((e) => e.id !== id)].sort((a, b) => b.at - a.at).slice(0, most);
      write(entries);
    },
  };
}

function read(): readonly Entry[] {
  try {
    return list(JSON.parse(localStorage.getItem(key) ?? "[]")).flatMap((e) => {
      const { id, title, at } = fields(e);
      const known = string(id);
      return known ? [{ id: known, title: string(title) ?? "", at: number(at) ?? 0 }] : [];
    });
  } catch {
    return []; // storage may be forbidden, or somebody else's
  }
}

function write(entries: readonly Entry[]): void {
  try {
    localStorage.setItem(key, JSON.stringify(entries));
  } catch {
    // then this tab alone knows them
  }
}

/** A name for a chat that nobody has yet. */
export function newChatId(): string {
  const random = crypto.getRandomValues(new Uint32Array(2));
  return "chat-" + [...random].map((n) => n.toString(36)).join("");
}
