// PROXY-01 and PROXY-02, as they show in a browser.
import { is, neverTwice, notes, open, shows, state } from "../lib/client.mjs";
import { scenario } from "../lib/scenario.mjs";
import { deltas, said, start } from "../lib/words.mjs";

await scenario(async (s) => {
  const { ask, assert, shot } = s;
  await ask("start", { chat: "c" });
  const page = await open(s, "c", { options: { idleTimeout: 8000 } });
  await page.waitForTimeout(6500); // silent before its first event, for longer than the proxy's patience
  await page.evaluate(() => {
    window.at = [];
    rejoin.connection.subscribe((_, change) => { if (change.type === "event") at.push(performance.now()); });
  });
  await ask("say", { chat: "c", events: [start(), ...deltas(1, 20)], every: 100 });
  await ask("said", { chat: "c" });
  await shows(page, said(20));
  const at = await page.evaluate(() => window.at);
  const spread = Math.round(at.at(-1) - at[1]);
  console.log(`20 events, 100 ms apart, arrived within ${spread} ms`);
  assert.ok(spread >= 1800 * 0.9, `they arrived within ${spread} ms`);

  // Silent in the middle, too.
  await page.waitForTimeout(9000);
  await is(page, "live");
  await ask("say", { chat: "c", events: deltas(21, 25) });
  await shows(page, said(25));
  await shot(page, "after-silence");
  const { words, metrics } = await notes(page);
  assert.deepEqual(metrics.map((m) => `${m.type} ${m.outcome}`), ["attach attached"], "one stream, never broken");
  assert.equal(words.filter((w) => w === "recovering").length, 0);
  const { requests } = await ask("traffic");
  assert.equal(requests.filter((r) => r.path === "/chat/live").length, 1);
  assert.equal((await state(page)).seq, 26);
  await ask("end", { chat: "c", saved: true });
  await page.waitForFunction(() => rejoin.state.end?.persisted);
  await neverTwice(s, page);
});
