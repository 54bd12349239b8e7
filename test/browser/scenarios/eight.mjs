// TAB-01: eight tabs of one browser on eight chats over plain HTTP/1.1, where there are six connections.
import { is, neverTwice, open, shows, state } from "../lib/client.mjs";
import { scenario } from "../lib/scenario.mjs";
import { deltas, end, said, start } from "../lib/words.mjs";

await scenario(async (s) => {
  const { ask, allow, assert, shot, until } = s;
  const chats = Array.from({ length: 8 }, (_, i) => `c${i}`);
  const pages = [];
  for (const chat of chats) {
    pages.push(await open(s, chat)); // the seventh and the eighth load as the first does
    await is(pages.at(-1), "idle");
  }
  const took = {};
  /** How long a request of a page takes until its answer. */
  const timed = async (what, page, name, ...args) => {
    const ms = await page.evaluate(async ({ name, args }) => {
      const begun = performance.now();
      await window.rejoin.connection[name](...args);
      return Math.round(performance.now() - begun);
    }, { name, args });
    (took[what] ??= []).push(ms);
    return ms;
  };
  const most = async () => (await ask("traffic")).most;

  // Idle: all wait for a run, and what one says goes out at once. Then all are asked.
  for (const [i, page] of pages.entries()) await timed("send while others are idle or streaming", page, "send", `hello ${i}`);
  for (const chat of chats) {
    await ask("begun", { chat });
    await ask("say", { chat, events: [start(chat), ...deltas(1, 3, chat)] });
  }
  for (const [i, page] of pages.entries()) await shows(page, said(3, chats[i]), chats[i]);
  await shot(pages[7], "eight-streaming");

  // All stream, one event each in a fiftieth of a second, and two are stopped meanwhile.
  for (const chat of chats) await ask("say", { chat, events: deltas(4, 60, chat), every: 20 });
  await until("six connections at most", async () => (await ask("traffic")).connections <= 6);
  await timed("stop while all stream", pages[7], "stop");
  await timed("stop while all stream", pages[2], "stop");
  await pages[7].waitForFunction(() => rejoin.state.end?.reason === "stopped");
  await pages[2].waitForFunction(() => rejoin.state.end?.reason === "stopped");
  await timed("send while others are idle or streaming", pages[7], "send", "once more");
  await ask("begun", { chat: "c7" });
  await ask("say", { chat: "c7", events: [start("again"), ...deltas(1, 60, "again"), end("again")] });
  await shows(pages[7], said(60, "again"), "again");
  for (const i of [0, 1, 3, 4, 5, 6]) await shows(pages[i], said(60, chats[i]), chats[i]);
  const stopped = await state(pages[2]);
  const { events } = await fetch(`${s.site}/runs/${stopped.runId}/snapshot`).then((r) => r.json());
  assert.equal(await pages[2].evaluate(() => rejoin.texts.c2), events.filter((e) => e.messageId === "c2").map((e) => e.delta ?? "").join(""), "what was said before the stop, and no more");

  // Whoever has a stream, for itself or for all, may leave: the others go on.
  for (const gone of [0, 1, 3, 4]) {
    await pages[gone].close();
    for (const i of [5, 6]) await ask("say", { chat: chats[i], events: deltas(61 + gone * 10, 65 + gone * 10, chats[i]) });
    const text = (id) => said(60, id) + [0, 1, 3, 4].filter((n) => n <= gone).flatMap((n) => deltas(61 + n * 10, 65 + n * 10, id)).map((e) => e.delta).join("");
    for (const i of [5, 6]) await shows(pages[i], text(chats[i]), chats[i]);
  }
  await timed("stop while all stream", pages[5], "stop");
  await ask("end", { chat: "c6" });
  await pages[6].waitForFunction(() => rejoin.state.end?.persisted);

  // A new tab finds its way, too, and the network's loss is everybody's.
  const late = await open(s, "c6");
  await is(late, "ended", "idle");
  await timed("send while others are idle or streaming", late, "send", "and now");
  await ask("begun", { chat: "c6" });
  await ask("say", { chat: "c6", events: [start("late"), ...deltas(1, 5, "late")] });
  await shows(late, said(5, "late"), "late");
  await shows(pages[6], said(5, "late"), "late");
  const connections = await most();
  allow(/net::ERR_/);
  await ask("cut");
  await ask("say", { chat: "c6", events: deltas(6, 20, "late") });
  await shows(late, said(20, "late"), "late");
  await shows(pages[6], said(20, "late"), "late");

  const alive = pages.filter((p) => !p.isClosed());
  await neverTwice(s, late, ...alive);
  console.log(`took, in ms: ${JSON.stringify(took)}; connections at once: ${connections}`);
  assert.ok(connections <= 8, `connections at once: ${connections}`); // one that the browser has closed may still be seen beside its successor
  const { requests } = await ask("traffic");
  console.log(`streams: ${requests.filter((r) => r.path === "/chat/live").length} of one chat, ${requests.filter((r) => r.path === "/chats/live").length} shared`);
  for (const [what, all] of Object.entries(took)) assert.ok(Math.max(...all) < 1000, `${what}: ${all} ms`);
});
