// A run that is watched while the network goes and comes back, and the relay dies.
import { neverTwice, notes, open, shows, state } from "../lib/client.mjs";
import { scenario } from "../lib/scenario.mjs";
import { deltas, said, start } from "../lib/words.mjs";

await scenario(async (s) => {
  const { ask, allow, assert, shot, until } = s;
  allow(/net::ERR_/, /status of 502/);
  await ask("start", { chat: "c" });
  await ask("say", { chat: "c", events: [start(), ...deltas(1, 5)] });
  const page = await open(s, "c");
  await shows(page, said(5));
  const watchers = async (n) => until(`${n} watch`, async () => ((await ask("traffic")).open["/chat/live"] ?? 0) === n);

  // Cut, with more said while nobody listens.
  await ask("cut");
  await ask("say", { chat: "c", events: deltas(6, 10) });
  await shows(page, said(10));

  // Offline, as the browser knows it, and back.
  await s.context.setOffline(true);
  await ask("cut");
  await page.waitForFunction(() => rejoin.state.status === "recovering");
  await shot(page, "offline");
  assert.equal(await page.textContent("[data-id=m]"), said(10), "what was received is kept");
  await ask("say", { chat: "c", events: deltas(11, 20) });
  await s.context.setOffline(false);
  await shows(page, said(20));

  // The relay dies as with kill -9, and the balancer takes another one, which has never heard of this browser.
  await watchers(1);
  await ask("kill", 0);
  await ask("point", 1);
  await ask("say", { chat: "c", events: deltas(21, 30) });
  await shows(page, said(30));

  // It comes back, and the other one is shut down in an orderly way.
  await ask("boot", 0);
  await ask("point", 0);
  await ask("drain", 1);
  await ask("say", { chat: "c", events: deltas(31, 40) });
  await shows(page, said(40));

  // All of them are gone for a while: it gives up no earlier than after five attempts, and the next one is a person's.
  await ask("kill", 0);
  await page.waitForFunction(() => rejoin.state.status === "failed");
  await shot(page, "gave-up");
  const failed = await state(page);
  assert.equal(failed.seq, 41);
  assert.ok(["network", "unavailable"].includes(failed.reason), failed.reason);
  assert.equal(await page.textContent("[data-id=m]"), said(40), "what was received is kept");
  await ask("boot", 0);
  await ask("say", { chat: "c", events: deltas(41, 45) });
  assert.deepEqual(await page.evaluate(() => rejoin.connection.retry()), { attached: true });
  await shows(page, said(45));
  await ask("end", { chat: "c", saved: true });
  await page.waitForFunction(() => rejoin.state.end);
  assert.deepEqual((await state(page)).end, { persisted: true, superseded: false, reason: "done" });
  await neverTwice(s, page);

  const { words, metrics } = await notes(page);
  const seqs = words.filter((w) => w.startsWith("event ")).map((w) => Number(w.slice(6)));
  assert.deepEqual(seqs, Array.from({ length: 46 - seqs[0] + 1 }, (_, i) => i + seqs[0]), "each event once, in order");
  assert.equal(words.filter((w) => w.startsWith("reset 6") || w.startsWith("reset 2")).length, 1, `one snapshot, at the beginning: ${words}`);
  const kinds = metrics.map((m) => `${m.type} ${m.outcome ?? m.reason ?? ""}`);
  assert.equal(kinds.filter((k) => k === "attach attached").length, 2, JSON.stringify({ metrics, words }));
  assert.ok(kinds.filter((k) => /^resume (resumed|attached)/.test(k)).length >= 4, JSON.stringify({ metrics, words }));
  assert.equal(kinds.filter((k) => k.startsWith("give_up")).length, 1, JSON.stringify({ metrics, words }));
});
