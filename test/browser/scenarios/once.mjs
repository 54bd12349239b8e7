// Nothing is done twice: an answer to a send that was lost, twenty attempts in one moment, a 204 in mid-run, a tab that leaves at once.
import { is, neverTwice, notes, open, shows, state } from "../lib/client.mjs";
import { scenario } from "../lib/scenario.mjs";
import { deltas, said, start } from "../lib/words.mjs";

await scenario(async (s) => {
  const { ask, allow, assert, site, until } = s;
  allow(/net::ERR_/);
  const sends = async () => (await ask("traffic")).requests.filter((r) => r.path === "/chat/send").length;

  // SEND-01: the relay has taken a message, and its answer is lost: it is not sent again, and the run is found by watching.
  const page = await open(s, "c", { flags: ["alone"] });
  await is(page, "idle");
  await ask("fail", { path: "/chat/send", lose: true });
  const sending = page.evaluate(() => rejoin.connection.send("hello"));
  const { run } = await ask("begun", { chat: "c" });
  await ask("say", { chat: "c", events: [start(), ...deltas(1, 10)] });
  const sent = await sending;
  assert.deepEqual([sent.runId, sent.acknowledged], [run, false]);
  assert.equal(await sends(), 1);
  await shows(page, said(10));

  // DUP-01: opened twenty times in one tick, and again while it is live: one stream, and each text once.
  await ask("forget");
  const outcomes = await page.evaluate(() => Promise.all(Array.from({ length: 20 }, (_, i) => i % 2 ? rejoin.connection.open("c") : rejoin.connection.retry())));
  assert.ok(outcomes.every((o) => o.attached), JSON.stringify(outcomes));
  await ask("say", { chat: "c", events: deltas(11, 20) });
  await shows(page, said(20));
  const { peak } = await ask("traffic");
  assert.ok((peak["/chat/live"] ?? 0) <= 1, `at once: ${peak["/chat/live"]}`);
  const fresh = await open(s, "c", { flags: ["alone"] });
  await fresh.evaluate(() => Promise.all(Array.from({ length: 20 }, () => rejoin.connection.open("c"))));
  await shows(fresh, said(20));
  await ask("say", { chat: "c", events: deltas(21, 30) });
  for (const p of [page, fresh]) await shows(p, said(30));
  await fresh.close();

  // TERM-06: the connection ends without an end, properly and not, and the run goes on: nothing is taken for complete.
  for (let n = 31; n < 60; n += 10) {
    await ask("cut");
    await ask("say", { chat: "c", events: deltas(n, n + 9) });
    await shows(page, said(n + 9));
    assert.equal((await state(page)).end, null);
  }

  // HANG-02: 204 in mid-run: what was received is not called complete, and nobody asks in a circle.
  await ask("forget");
  for (let i = 0; i < 3; i++) await ask("fail", { path: "/chat/live", status: 204 });
  await ask("cut");
  await page.waitForFunction(() => rejoin.state.reason === "gone");
  assert.equal((await state(page)).end, null);
  await page.waitForTimeout(4000);
  const asked = (await ask("traffic")).requests.filter((r) => r.path === "/chat/live").length;
  assert.ok(asked <= 5, `${asked} requests in 4 s`);
  await ask("forget");
  await page.evaluate(() => rejoin.connection.retry());
  await shows(page, said(60));

  // STOP-01: who leaves right after sending stops nothing.
  const brief = await open(s, "brief", { flags: ["alone"] });
  await is(brief, "idle");
  await brief.evaluate(() => { void rejoin.connection.send("and gone"); });
  await until("it was sent", async () => (await ask("traffic")).requests.some((r) => r.path === "/chat/send"));
  await brief.close();
  const left = await ask("begun", { chat: "brief" });
  await ask("say", { chat: "brief", events: [start(), ...deltas(1, 20)] });
  await ask("end", { chat: "brief" });
  const { events } = await fetch(`${site}/runs/${left.run}/snapshot`).then((r) => r.json());
  assert.equal(events.map((e) => e.delta ?? "").join(""), said(20));
  await until("it is saved", async () => (await fetch(`${site}/chat/brief/history`).then((r) => r.json())).turns.length === 1);

  await ask("end", { chat: "c" });
  await page.waitForFunction(() => rejoin.state.end?.persisted);
  await neverTwice(s, page);
  const { metrics } = await notes(page);
  assert.equal(metrics.filter((m) => m.type === "end").length, 1, "one end");
});
