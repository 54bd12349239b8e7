// A page of another origin than the relay's: what it may send, and what it can read.
import { scenario } from "../lib/scenario.mjs";
import { deltas } from "../lib/words.mjs";

const { PAGES, TOKEN, EXPIRED } = process.env;

await scenario(async ({ site, tab, ask, allow, assert }) => {
  const page = await tab(`${PAGES}/fixture/blank.html`);
  const send = (path, options, token = TOKEN) => page.evaluate(async ({ url, options, token }) => {
    const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
    const leave = new AbortController();
    try {
      const response = await fetch(url, { ...options, headers, signal: leave.signal });
      const read = response.body?.getReader();
      const first = read && !(await Promise.race([read.closed.then(() => true, () => true), read.read().then((r) => r.done)]));
      return { status: response.status, run: response.headers.get("Rejoin-Run-Id"), retry: response.headers.get("Retry-After"), challenge: response.headers.get("WWW-Authenticate"), first };
    } catch (error) {
      return { error: String(error) };
    } finally {
      leave.abort();
    }
  }, { url: site + path, options, token });
  const post = (body, headers = {}) => ({ method: "POST", headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(body) });
  const live = (chat, more) => post({ chat_id: chat, protocol: 1, ...more });

  const run = await ask("start", { chat: "c" });
  await ask("say", { chat: "c", events: deltas(1, 3) });
  allow(/the server responded with a status of (400|401|404|503)/);

  const first = await send("/chat/live", live("c"));
  assert.deepEqual({ status: first.status, run: first.run, first: first.first }, { status: 200, run, first: true });
  assert.equal((await send("/chat/live", live("idle"))).status, 204);
  assert.equal((await send("/chat/live", post({ protocol: 1 }))).status, 400);
  const nobody = await send("/chat/live", live("c"), null);
  assert.equal(nobody.status, 401);
  assert.match(nobody.challenge, /^Bearer/);
  const old = await send("/chat/live", live("c"), EXPIRED);
  assert.equal(old.status, 401);
  assert.match(old.challenge, /expired/);
  assert.equal((await send("/nowhere", { method: "GET" })).status, 404);
  assert.equal((await send("/chat/send", post({ chat_id: "d", input: { text: "hello" } }))).status, 202);

  // The one stream that there may be is open: the page can tell that from a network that is down, and when to come back.
  await page.evaluate(({ site, token }) => {
    window.leave = new AbortController();
    return fetch(`${site}/chat/live`, { method: "POST", signal: leave.signal, headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` }, body: JSON.stringify({ chat_id: "c", protocol: 1 }) }).then((r) => r.status);
  }, { site, token: TOKEN });
  const full = await send("/chat/live", live("c"));
  assert.equal(full.status, 503);
  assert.ok(Number(full.retry) > 0, `Retry-After can be read: ${full.retry}`);
  await page.evaluate(() => leave.abort());

  // Coming back: the cursor in the body, and in the header that EventSource polyfills use.
  await ask("forget");
  const resumed = await ask("begun", { chat: "c" }).then(() => send("/chat/live", live("c", { run_id: run, after_seq: 1 })));
  assert.deepEqual([resumed.status, resumed.first], [200, true]);
  const header = await send("/chat/live?chat_id=c", { method: "GET", headers: { "Last-Event-ID": `${run}:2` } });
  assert.deepEqual([header.status, header.first], [200, true]);
  const { requests } = await ask("traffic");
  const preflights = requests.filter((r) => r.method === "OPTIONS");
  assert.ok(preflights.length > 0, "there were preflights");
  for (const p of preflights) assert.deepEqual([p.status, p.auth], [204, ""], "a preflight has no token, and is answered without one");

  // Where the page may not: it is an error at once, and nothing but the preflight was sent.
  await ask("forget");
  allow(/blocked by CORS policy/, /net::ERR_FAILED/);
  const other = await tab(`${PAGES.replace("127.0.0.1", "localhost")}/fixture/blank.html`);
  const refused = await other.evaluate((url) => fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" }).then(() => "an answer", (error) => error.name), `${site}/chat/send`);
  assert.equal(refused, "TypeError");
  assert.deepEqual((await ask("traffic")).requests.map((r) => r.method), ["OPTIONS"]);
});
