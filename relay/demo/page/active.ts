// Which chats have a run at the moment. It is asked for every few seconds while somebody looks, and when
// something has changed: a stream of it would take one of the six connections that HTTP/1.1 leaves to all tabs.
import { fields, list, string } from "./json.js";

const every = 4000;

export interface Active {
  /** The state of a chat's run, undefined without one. */
  of(chatId: string): string | undefined;
  /** Asks now, or once the question under way is answered. */
  refresh(): void;
}

/** onChange is called with the chats that have a run whenever that is not what it was. */
export function watchActive(get: (path: string) => Promise<Response>, onChange: (chats: readonly string[]) => void): Active {
  let known = new Map<string, string>();
  let asking = false;
  let again = false;
  let timer = 0;
  const ask = async () => {
    clearTimeout(timer);
    if (asking) {
      again = true;
      return;
    }
    asking = true;
    again = false;
    try {
      const answer = await get("/runs/active");
      if (answer.ok) take(await answer.json());
    } catch {
      // the connection itself says what is wrong; here the last answer stays
    }
    asking = false;
    if (again) void ask();
    else if (!document.hidden) timer = setTimeout(ask, every);
  };
  const take = (answer: unknown) => {
    const now = new Map<string, string>();
    for (const run of list(fields(answer)["runs"])) {
      const { chat_id, state } = fields(run);
      const chat = string(chat_id);
      if (chat && !now.has(chat)) now.set(chat, string(state) ?? "running");
    }
    const same = now.size === known.size && [...now].every(([chat, state]) => known.get(chat) === state);
    known = now;
    if (!same) onChange([...now.keys()]);
  };
  document.addEventListener("visibilitychange", () => { if (!document.hidden) void ask(); });
  void ask();
  return { of: (chat) => known.get(chat), refresh: () => void ask() };
}
