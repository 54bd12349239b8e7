// An EventSource, as browsers have it, on GET /chat/live: it comes back by itself at its place, and stops for 204.
import { scenario } from "../lib/scenario.mjs";
import { deltas, said } from "../lib/words.mjs";

await scenario(async ({ site, tab, ask, allow, assert, shot }) => {
  const page = await tab(`${site}/fixture/blank.html`);
  await ask("start", { chat: "c" });
  await ask("say", { chat: "c", events: deltas(1, 5) });
  await page.evaluate((chat) => {
    window.frames = [];
    window.opened = 0;
    window.errors = [];
    window.text = "";
    const source = window.source = new EventSource(`/chat/live?chat_id=${chat}`);
    source.onopen = () => window.opened++;
    source.onerror = () => window.errors.push(source.readyState);
    source.onmessage = (m) => {
      const frame = JSON.parse(m.data);
      frames.push(`${frame.type}:${frame.seq}`);
      const events = frame.type === "STREAM_SNAPSHOT" ? frame.events : frame.type === "STREAM_EVENT" ? [frame.event] : [];
      if (frame.type === "STREAM_SNAPSHOT") window.text = "";
      window.text += events.map((e) => e.delta ?? "").join("");
      document.querySelector("p").textContent = window.text;
    };
  }, "c");
  const holds = (text) => page.waitForFunction((text) => window.text === text, text);
  await holds(said(5));
  await ask("say", { chat: "c", events: deltas(6, 8) });
  await holds(said(8));

  // Cut in the middle, and again, with more said while nobody listens.
  allow(/ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_CONNECTION_REFUSED|ERR_CONNECTION_CLOSED|ERR_NETWORK_IO/);
  await ask("cut");
  await ask("say", { chat: "c", events: deltas(9, 20) });
  await holds(said(20));
  await shot(page, "after-a-cut");
  await ask("point", 1); // the other relay knows nothing of this stream but its cursor
  await ask("cut");
  await ask("say", { chat: "c", events: deltas(21, 25) });
  await holds(said(25));
  const { requests } = await ask("traffic");
  const lives = requests.filter((r) => r.path.startsWith("/chat/live"));
  assert.equal(lives.length, 3, "one request, and one for each cut");
  assert.equal(await page.evaluate(() => frames.filter((f) => f.startsWith("STREAM_SNAPSHOT")).length), 1, "each return was a replay");
  assert.deepEqual(await page.evaluate(() => frames), ["STREAM_SNAPSHOT:5", ...Array.from({ length: 20 }, (_, i) => `STREAM_EVENT:${i + 6}`)]);

  // Whoever watched a run is told its end however often it asks, so that a page closes; it has nothing more to come back for.
  await ask("end", { chat: "c", saved: true });
  await page.waitForFunction(() => frames.at(-1) === "STREAM_END:25");
  await page.evaluate(() => source.close());

  // The answer is in the history now, and one that has no place is told 204, and does not come back.
  await page.evaluate(() => { window.source = new EventSource("/chat/live?chat_id=c"); });
  await page.waitForFunction(() => source.readyState === EventSource.CLOSED);
  const before = (await ask("traffic")).requests;
  assert.equal(before.at(-1).status, 204);
  await page.evaluate(() => new Promise((done) => setTimeout(done, 4000))); // longer than its own wait before it comes back
  assert.equal((await ask("traffic")).requests.length, before.length, "it does not come back after 204");
});
