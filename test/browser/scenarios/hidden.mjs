// TAB-02: a tab that is hidden, frozen, put away by the browser and taken out again, and one whose socket is dead though nobody
// has said so. Tabs are real ones here: one of a window is visible.
import { is, neverTwice, notes, open, shows } from "../lib/client.mjs";
import { scenario } from "../lib/scenario.mjs";
import { deltas, said, start } from "../lib/words.mjs";

await scenario(async (s) => {
  const { ask, allow, assert, shot, site, tab, until, context } = s;
  allow(/net::ERR_/);
  const slow = {};
  const open2 = async () => (await ask("traffic")).open["/chat/live"] ?? 0;
  let n = 5;
  const more = async () => { await ask("say", { chat: "c", events: deltas(n + 1, n + 5) }); n += 5; };
  /** How long until the text is current. */
  const current = async (page, what) => {
    const begun = performance.now();
    await shows(page, said(n));
    slow[what] = Math.round(performance.now() - begun);
    assert.ok(slow[what] < 2000, `${what}: current ${slow[what]} ms after it was visible`);
  };

  await ask("start", { chat: "c" });
  await ask("say", { chat: "c", events: [start(), ...deltas(1, n)] });
  const other = await tab(`${site}/fixture/blank.html`);
  const page = await open(s, "c");
  const cdp = await context.newCDPSession(page);
  const freeze = (state) => cdp.send("Page.setWebLifecycleState", { state });
  const visible = (page) => page.evaluate(() => document.visibilityState);
  await shows(page, said(n));

  // Hidden: it goes on, in the background.
  await other.bringToFront();
  assert.equal(await visible(page), "hidden");
  await more();
  await page.bringToFront();
  await current(page, "hidden");

  // Hidden and frozen: nothing of the page runs, while more is said.
  await other.bringToFront();
  await freeze("frozen");
  await more();
  await page.bringToFront();
  assert.equal(await visible(page), "visible");
  await current(page, "frozen");

  // Frozen, and the connection is reset meanwhile; and one that is lost without a word.
  await other.bringToFront();
  await freeze("frozen");
  await ask("cut");
  await more();
  await page.bringToFront();
  await current(page, "frozen and cut");
  await other.bringToFront();
  await freeze("frozen");
  await ask("silence");
  await more();
  await page.bringToFront();
  await current(page, "frozen, its socket dead but open");
  await other.bringToFront();
  await ask("silence");
  await more();
  await page.bringToFront();
  await current(page, "hidden, its socket dead but open");
  await shot(page, "shown-again");

  // From one network to another: offline and online, and what was open is lost without a word.
  await ask("silence");
  await more();
  await page.evaluate(() => dispatchEvent(new Event("online")));
  await current(page, "another network");

  // Away and back: with the browser's back/forward cache, and without it.
  for (const [what, prevent] of [["back, from the cache", false], ["back, loaded anew", true]]) {
    if (prevent) await page.evaluate(() => { addEventListener("unload", () => {}); navigator.locks?.request("held", () => new Promise(() => {})); });
    await page.evaluate(() => { window.mark = "this very page"; window.shownAgain = 0; addEventListener("pageshow", (e) => { window.shownAgain += e.persisted ? 1 : 0; }); });
    await page.goto(`${site}/fixture/blank.html?${prevent}`);
    await more();
    await page.evaluate(() => history.back()).catch(() => {}); // the page is gone before it answers
    await page.waitForFunction(() => window.rejoin);
    await current(page, what);
    const kept = await page.evaluate(() => [window.mark === "this very page", window.shownAgain ?? 0]);
    assert.deepEqual(kept, prevent ? [false, 0] : [true, 1], what);
    await until("one stream is open", async () => (await open2()) === 1);
  }

  // Ten times hidden and shown in a moment: never two streams at once of this one tab, nor many requests.
  await is(page, "live", "synchronizing");
  await ask("forget");
  for (let i = 0; i < 10; i++) {
    await other.bringToFront();
    await page.bringToFront();
  }
  await more();
  await current(page, "hidden and shown ten times");
  await until("one stream is open", async () => (await open2()) === 1);
  const { peak, requests } = await ask("traffic");
  const lives = requests.filter((r) => r.path === "/chat/live");
  console.log(`current after it was visible, in ms: ${JSON.stringify(slow)}; of ten times hidden and shown came ${lives.length} requests`);
  assert.ok(peak["/chat/live"] <= 2, `at once: ${peak["/chat/live"]}`); // the one that is left may not have arrived yet where its successor has
  assert.ok(lives.length <= 10, `${lives.length} requests`);
  for (const { method, path } of requests) assert.deepEqual([method, path], ["POST", "/chat/live"], "watching is all that it does");

  await ask("end", { chat: "c", saved: true });
  await page.waitForFunction(() => rejoin.state.end?.persisted);
  await neverTwice(s, page);
  const { words } = await notes(page);
  const seqs = words.filter((w) => w.startsWith("event ")).map((w) => Number(w.slice(6)));
  assert.deepEqual(seqs, Array.from({ length: seqs.length }, (_, i) => i + seqs[0]), "each event once, in order");
}, { real: true });
