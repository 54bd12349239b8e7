// AUTH-02: tokens that expire in the middle of a run.
import { is, neverTwice, notes, shows, state, watch } from "../lib/client.mjs";
import { scenario } from "../lib/scenario.mjs";
import { deltas, said, start } from "../lib/words.mjs";

await scenario(async (s) => {
  const { ask, allow, assert, site, tab, shot, until } = s;
  allow(/status of 401/);
  const page = await tab(null, { script: watch });
  const given = []; // whether each token was wanted because another had expired
  let next = []; // what the next questions get: how many seconds it is good for, or "no" for a failure
  await page.exposeFunction("mint", async (expired) => {
    given.push(expired);
    const what = next.length > 1 ? next.shift() : next[0];
    if (what === "no") throw new Error("the token's source is down");
    return ask("token", what);
  });
  await page.addInitScript(() => { window.token = (expired) => window.mint(expired); });
  const refusals = async () => (await ask("traffic")).requests.filter((r) => r.status === 401).length;

  const run = await ask("start", { chat: "c" });
  await ask("say", { chat: "c", events: [start(), ...deltas(1, 5)] });
  next = [3, 3600];
  await page.goto(`${site}/fixture/client.html?chat=c&token`);
  await shows(page, said(5));
  assert.deepEqual(given, [false], "it is asked once, before the first request");

  // It expires in mid-run: the stream is cut, one request is refused, one fresh token is fetched, and nothing is repeated.
  await ask("say", { chat: "c", events: deltas(6, 60), every: 120 });
  await until("it has expired", async () => given.length > 1);
  await ask("said", { chat: "c" });
  await shows(page, said(60));
  assert.deepEqual(given, [false, true], "one refresh");
  assert.equal(await refusals(), 1, "one refusal");
  await is(page, "live");
  assert.equal((await state(page)).end, null, "401 is no end");
  await shot(page, "refreshed");

  // Many requests with a token that has expired: one refresh for all of them.
  given.length = 0;
  next = [1, 3600];
  await page.evaluate(() => { window.other = rejoin.connect({ token: (expired) => window.mint(expired) }); other.open("c"); });
  await page.waitForFunction(() => other.state.status === "live");
  await page.waitForTimeout(1500); // until it is over
  await page.evaluate(() => Promise.all(Array.from({ length: 5 }, () => other.history())));
  assert.ok(given.filter((expired) => expired).length === 1, `one refresh for all: ${given}`);
  await page.evaluate(() => other.close());

  // The refresh fails twice, then works: what was received is kept, and it goes on.
  given.length = 0;
  next = [3, "no", "no", 3600];
  await page.reload();
  await shows(page, said(60));
  await ask("say", { chat: "c", events: deltas(61, 120), every: 120 });
  await until("it was refreshed at last", async () => given.length >= 4);
  await ask("said", { chat: "c" });
  await shows(page, said(120));
  assert.deepEqual(given, [false, true, true, true]);
  const { metrics, words } = await notes(page);
  assert.deepEqual(metrics.filter((m) => m.type === "give_up"), []);
  const seqs = words.filter((w) => w.startsWith("event ")).map((w) => Number(w.slice(6)));
  assert.deepEqual(seqs, Array.from({ length: seqs.length }, (_, i) => i + seqs[0]), "each event once, in order");
  await ask("end", { chat: "c", saved: true });
  await page.waitForFunction(() => rejoin.state.end?.persisted);

  // Nobody has a token any more: it gives up, and says why.
  next = ["no"];
  await page.reload();
  await is(page, "idle", "failed");
  assert.equal((await state(page)).reason, "unauthenticated");
  next = [-10];
  given.length = 0;
  await ask("forget");
  await page.reload();
  await is(page, "idle", "failed");
  assert.equal((await state(page)).reason, "unauthenticated");
  const before = (await ask("traffic")).requests.length;
  await page.waitForTimeout(3000);
  assert.equal((await ask("traffic")).requests.length, before, "it does not come back for ever with a dead token");
  assert.ok(before <= 2, `${before} requests`);
  await neverTwice(s, page);
});
