// The page: one Chat of the browser client, and the parts that show what it holds, once a frame.
import { Chat } from "../../../consumer/web/src/chat.js";
import { RejoinError } from "../../../consumer/web/src/types.js";
import { watchActive, type Active } from "./active.js";
import { announcer } from "./announce.js";
import { newChatId, openBook } from "./book.js";
import { composer } from "./composer.js";
import { attribute, everyFrame, find, show, text } from "./dom.js";
import { log } from "./log.js";
import { panels } from "./panels.js";
import { questions } from "./questions.js";
import { scroller } from "./scroll.js";
import { addressOf, sidebar, titleOf } from "./sidebar.js";
import { stateLines } from "./state.js";
import { setUp } from "./setup.js";
import { tokens } from "./token.js";
import { reasonWords } from "./words.js";
import { tapWire } from "./wire.js";
import { wirePanel } from "./wirepanel.js";

let active: Active | null = null;
let killedRun: string | null = null; // whose producer this page has killed

const draw = everyFrame(() => {
  const view = chat.view;
  const entry = book.entries.find((e) => e.id === open) ?? { id: open, title: "", at: 0 };
  const killed = view.busy && view.runId !== null && view.runId === killedRun;
  chats.draw(open);
  conversation.draw(view.messages, new Set(view.questions.map((q) => q.id)), view.busy);
  asked.draw(view.questions);
  lines.draw(view);
  if (killedRun !== null && !killed && !view.busy) {
    killedRun = null;
    lines.notice(null);
  }
  compose.draw(view.busy, killed, view.status === "failed");
  attribute(app, "data-status", view.status);
  text(title, titleOf(entry));
  document.title = `${view.busy ? "● " : ""}${titleOf(entry)} · Rejoin`;
  show(hero, view.messages.length === 0 && !view.busy);
  announce(view);
  panel.draw();
});

const wire = tapWire(draw);
const book = openBook(draw);
const token = tokens(() => begin());
const chat = new Chat({
  fetch: wire.fetch,
  token: () => token.get(),
  seed: sessionStorage,
  onChats: (id) => {
    book.note(id);
    active?.refresh();
    draw();
  },
});
const app = find("app");
const title = find("title");
const hero = find("hero");
const scroll = scroller();
const announce = announcer();
const conversation = log(find("messages"), find<HTMLButtonElement>("earlier"), draw);
const asked = questions(find("questions"), answer);
const lines = stateLines(() => void attach(() => chat.retry()), (question) => void askAgain(question));
const compose = composer((words) => void send(words), () => void attempt(() => chat.stop()));
const side = panels(draw);
const panel = wirePanel(find("wire"), find("wire-count"), side.wireIsOpen, wire);
const chats = sidebar(find("chats"), book, () => active, (id) => go(id));

let open = new URLSearchParams(location.search).get("chat") || newChatId();
history.replaceState(null, "", addressOf(open));

chat.subscribe(draw);
chat.connection.subscribe(wire.told);
void setUp(get, kill).then((setup) => {
  if (setup.tokens && token.get() === null) {
    token.offer();
    lines.trouble(reasonWords.unauthenticated); // asking without one would only be refused
    draw();
    return;
  }
  show(find("token"), setup.tokens);
  begin();
});

find("new-chat").addEventListener("click", () => go(newChatId()));
find("wire-clear").addEventListener("click", () => wire.clear());
find("second-tab").addEventListener("click", () => window.open(addressOf(open), "_blank", "noopener"));
addEventListener("popstate", () => point(new URLSearchParams(location.search).get("chat") || newChatId()));
document.addEventListener("keydown", (e) => {
  if (e.key !== "Escape" || e.defaultPrevented || !chat.view.busy) return;
  e.preventDefault();
  void attempt(() => chat.stop());
});
compose.focus();
draw();

/** Shows another chat, which the address then names. */
function go(id: string): void {
  if (id !== open) {
    history.pushState(null, "", addressOf(id));
    point(id);
  }
  side.closeMenu();
  compose.focus();
}

function point(id: string): void {
  open = id;
  conversation.clear();
  lines.trouble(null);
  lines.notice(null);
  scroll.toEnd();
  if (active) begin(); // otherwise it waits for a token
  draw();
}

function begin(): void {
  if (active) active.refresh();
  else {
    active = watchActive(get, (live) => {
      for (const id of live) book.note(id);
      draw();
    });
  }
  void attach(() => chat.open(open));
}

async function send(words: string): Promise<void> {
  const { busy, runId } = chat.view;
  book.note(open, words, true);
  if (killedRun === null) lines.notice(null);
  scroll.toEnd();
  const sent = await attempt(async () => {
    if (busy && runId === killedRun) await chat.send(words, { onActive: "queue" });
    else if (busy) await chat.steer(words);
    else await chat.send(words);
  });
  if (sent !== null) compose.restore(words);
  active?.refresh();
}

/** The answer takes the place of the one that failed. */
async function askAgain(question: string): Promise<void> {
  scroll.toEnd();
  compose.focus();
  await attempt(() => chat.send(question, { kind: "retry" }));
  active?.refresh();
}

async function answer(requestId: string, outcome: Readonly<Record<string, unknown>>): Promise<string | null> {
  try {
    await chat.answer(requestId, outcome);
    return null;
  } catch (e) {
    return said(e);
  }
}

async function kill(): Promise<void> {
  const run = chat.view.busy ? chat.view.runId : null;
  await attempt(async () => {
    const dead = await wire.fetch("/demo/kill", { method: "POST", headers: headers() });
    const about = (await dead.json()) as { lease_ms?: number; back_ms?: number; detail?: string };
    if (!dead.ok) throw new Error(about.detail ?? `The producer is alive: ${dead.status}`);
    killedRun = run;
    const lease = Math.round((about.lease_ms ?? 0) / 1000);
    lines.notice(`The producer is dead, as by kill -9: nothing was flushed, and nobody said good-bye. ${run ? `Its run looks alive until its lease has run out, within ${2 * lease} s, and then ends as abandoned.` : "It was not answering here."} Another producer begins in ${Math.round((about.back_ms ?? 0) / 1000)} s.`);
  });
}

function get(path: string): Promise<Response> {
  return fetch(path, { headers: { Accept: "application/json", ...headers() } });
}

function headers(): Record<string, string> {
  const value = token.get();
  return value ? { Authorization: `Bearer ${value}` } : {};
}

/** The connection says itself what an attach came to. */
async function attach(what: () => Promise<unknown>): Promise<void> {
  lines.trouble(null);
  await attempt(what);
}

/** Does what somebody asked for, and says why it was not done; null where it was. */
async function attempt(what: () => Promise<unknown>): Promise<string | null> {
  let why: string | null = null;
  try {
    await what();
  } catch (e) {
    why = said(e);
  }
  lines.trouble(why);
  draw();
  return why;
}

function said(e: unknown): string {
  if (e instanceof RejoinError && e.code === "already_answered") return "Somebody else has answered this first.";
  if (e instanceof RejoinError && e.code === "already_streaming") return "Another answer is under way in this chat.";
  if (e instanceof RejoinError && e.code === "unacknowledged") return "Whether this arrived is not known. It is not sent again by itself.";
  return e instanceof Error ? e.message : String(e);
}
