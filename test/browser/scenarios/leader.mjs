// TAB-01 and TAB-02: tabs that share a stream, of which the one that has it for all is frozen, as browsers do with hidden tabs.
import { is, neverTwice, open, shows } from "../lib/client.mjs";
import { scenario } from "../lib/scenario.mjs";
import { deltas, said, start } from "../lib/words.mjs";

await scenario(async (s) => {
  const { ask, assert, context, shot } = s;
  const chats = Array.from({ length: 6 }, (_, i) => `c${i}`);
  const pages = [];
  for (const chat of chats) {
    await ask("start", { chat });
    await ask("say", { chat, events: [start(), ...deltas(1, 5)] });
    pages.push(await open(s, chat));
    await shows(pages.at(-1), said(5));
    await is(pages.at(-1), "live");
  }
  // Which tabs have a stream for themselves, and which one leads the others.
  const held = await pages[0].evaluate(() => navigator.locks.query().then((q) => q.held.map((l) => l.name)));
  assert.ok(held.some((name) => name.endsWith(":lead")), `one leads: ${held}`);
  const cdps = await Promise.all(pages.map((page) => context.newCDPSession(page)));
  const freeze = (i) => cdps[i].send("Page.setWebLifecycleState", { state: "frozen" });

  // The first of those that share leads. It is hidden, as all are but the last one, and frozen.
  let n = 5;
  for (const frozen of [3, 4]) {
    if (process.env.VERBOSE) console.log("freeze", frozen, Math.round(performance.now()));
    await freeze(frozen);
    for (const chat of chats) await ask("say", { chat, events: deltas(n + 1, n + 5) });
    n += 5;
    for (const i of [0, 1, 2, 3, 4, 5].filter((i) => i > frozen || i < 3)) await shows(pages[i], said(n));
  }
  // Shown again, they are current.
  for (const i of [3, 4, 0]) {
    if (process.env.VERBOSE) console.log("show", i, Math.round(performance.now()));
    await pages[i].bringToFront();
    const begun = performance.now();
    await shows(pages[i], said(n));
    const ms = Math.round(performance.now() - begun);
    console.log(`the tab ${i} was current after ${ms} ms`);
    if (process.env.VERBOSE) console.log((await ask("traffic")).requests.map((r) => r.path.padEnd(12) + r.status + " " + r.body).join("\n"));
    assert.ok(ms < 2000, `the tab ${i}: ${ms} ms`);
  }
  await shot(pages[0], "all-current");
  for (const [i, chat] of chats.entries()) {
    await ask("end", { chat, saved: true });
    if (i !== 4) await pages[i].waitForFunction(() => rejoin.state.end?.persisted, null, { polling: 40 });
  }
  await neverTwice(s, ...pages);
}, { real: true });
