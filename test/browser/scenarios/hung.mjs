// TAB-02: tabs that share a stream, and the one that has it for all hangs without a word, or crashes. A page that is halted by a debugger
// answers nothing and is told nothing, like one whose script runs for ever or whose process was put to sleep.
import { is, neverTwice, open, shows } from "../lib/client.mjs";
import { scenario } from "../lib/scenario.mjs";
import { deltas, said, start } from "../lib/words.mjs";

await scenario(async (s) => {
  const { allow, ask, assert, context } = s;
  allow(/^crashed/);
  const chats = Array.from({ length: 6 }, (_, i) => `c${i}`);
  const pages = [];
  for (const chat of chats) {
    await ask("start", { chat });
    await ask("say", { chat, events: [start(), ...deltas(1, 5)] });
    pages.push(await open(s, chat));
    await shows(pages.at(-1), said(5));
    await is(pages.at(-1), "live");
  }
  let n = 5;
  /** Says more everywhere, and waits until tabs show it. */
  const all = async (what, ...tabs) => {
    for (const chat of chats) await ask("say", { chat, events: deltas(n + 1, n + 5) });
    n += 5;
    const begun = performance.now();
    for (const i of tabs) await shows(pages[i], said(n));
    const ms = Math.round(performance.now() - begun);
    console.log(`${what}: all had it after ${ms} ms`);
    return ms;
  };

  // Runs that say nothing for longer than the others listen for the one who leads: nobody takes anything from it.
  const streams = async () => (await ask("traffic")).requests.filter((r) => r.path === "/chats/live").length;
  const had = await streams();
  await pages[5].waitForTimeout(8_000);
  assert.equal(await streams(), had, "who leads goes on leading");

  // The first of those that share leads, and hangs.
  const leader = await context.newCDPSession(pages[3]);
  await leader.send("Debugger.enable");
  const halted = new Promise((done) => leader.once("Debugger.paused", done));
  await leader.send("Debugger.pause");
  await ask("say", { chat: chats[3], events: [] });
  for (const chat of chats) await ask("say", { chat, events: deltas(6, 6) }); // it runs into the halt with what it hears next
  await halted;
  n = 6;
  const hung = await all("hung", 0, 1, 2, 4, 5);
  assert.ok(hung < 15_000, `${hung} ms; a silent stream is waited for for 45 s`);

  // The one that has taken its place crashes, which the others are told by the browser.
  const crash = await context.newCDPSession(pages[5]);
  await pages[4].bringToFront();
  void crash.send("Page.crash").catch(() => {}); // nobody is left to answer
  const crashed = await all("crashed", 0, 1, 2, 4);
  assert.ok(crashed < 5_000, `${crashed} ms`);

  // And the first one, released, is as current as the others.
  await leader.send("Debugger.resume");
  await leader.send("Debugger.disable");
  await pages[3].bringToFront();
  await all("released", 0, 1, 2, 3, 4);
  for (const i of [0, 1, 2, 3, 4]) await ask("end", { chat: chats[i], saved: true });
  for (const i of [0, 1, 2, 3, 4]) await pages[i].waitForFunction(() => rejoin.state.end?.persisted, null, { polling: 40 });
  await neverTwice(s, ...pages.slice(0, 5));
}, { real: true });
