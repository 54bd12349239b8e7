// One scenario in one Chromium: `await scenario(async ({ site, tab, ask, … }) => { … })`. It fails with what the function throws,
// and for whatever a page complained of that was not announced with `allow`.
import assert from "node:assert/strict";
import net from "node:net";
import path from "node:path";
import { chromium } from "playwright-core";

const { CONTROL, CHROMIUM, SHOTS, SITE } = process.env;

/** Waits are this long before they fail: many times what they need. */
export const patience = 60_000;

/** Lets the test do something outside of the browser; see actions in the Go files. */
export async function ask(action, what = null) {
  const answer = await fetch(`${CONTROL}/${action}`, { method: "POST", body: JSON.stringify(what) });
  const text = await answer.text();
  if (!answer.ok || text === "") throw new Error(`the test did not do ${action}: ${answer.status} ${text}`);
  return JSON.parse(text);
}

/** Waits until `met` gives something true, which it returns. */
export async function until(what, met, within = patience) {
  const late = Date.now() + within;
  for (let last; ; await new Promise((done) => setTimeout(done, 15))) {
    const value = await met().catch((error) => { last = error; });
    if (value) return value;
    if (Date.now() > late) throw new Error(`it never happened within ${within} ms: ${what}${last ? ` (${last})` : ""}`);
  }
}

/** What a page has complained of. */
class Complaints {
  #allowed = [];
  #all = [];
  allow(...patterns) { this.#allowed.push(...patterns); }
  add(what) {
    this.#all.push(what);
    if (process.env.VERBOSE) console.log(`after ${Math.round(performance.now())} ms:`, what);
  }
  get left() { return this.#all.filter((what) => !this.#allowed.some((pattern) => pattern.test(what))); }
}

const freePort = () => new Promise((done) => {
  const server = net.createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address();
    server.close(() => done(port));
  });
});

/**
 * `real: true` gives tabs of one window, of which one is visible, which are frozen and kept in the back/forward cache as a
 * person's are. Otherwise each tab believes that it is the visible one.
 */
export async function scenario(act, { real = false, args = [] } = {}) {
  // The test closes our standard input when it is over before us.
  let stop;
  process.stdin.on("end", () => { process.exitCode = 1; stop?.(); }).resume();
  const port = real ? await freePort() : 0;
  const first = await chromium.launch({
    executablePath: CHROMIUM,
    chromiumSandbox: false, // the pages are our own, and a container has no other
    ignoreDefaultArgs: real ? ["--disable-back-forward-cache", "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding", "--disable-background-timer-throttling"] : [],
    args: real ? [...args, `--remote-debugging-port=${port}`] : args,
  });
  stop = () => first.close();
  const browser = real ? await chromium.connectOverCDP(`http://127.0.0.1:${port}`, { noDefaults: true }) : first;
  const complaints = new Complaints();
  let pictures = 0;

  const watch = (page) => {
    const where = () => { try { return new URL(page.url()).pathname + new URL(page.url()).search; } catch { return page.url(); } };
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) complaints.add(`console ${message.type()} on ${where()}: ${message.text()} (${message.location().url})`);
      else if (process.env.VERBOSE) console.log("console:", message.text());
    });
    page.on("pageerror", (error) => complaints.add(`uncaught on ${where()}: ${error.stack ?? error}`));
    page.on("request", (request) => {
      const { protocol, hostname } = new URL(request.url());
      if (/^(http|ws)/.test(protocol) && !["127.0.0.1", "localhost"].includes(hostname)) complaints.add(`asked somebody else: ${request.url()}`);
    });
    page.on("crash", () => complaints.add(`crashed: ${where()}`));
    page.on("requestfailed", (request) => {
      const why = request.failure()?.errorText ?? "";
      if (why !== "net::ERR_ABORTED") complaints.add(`failed on ${where()}: ${request.method()} ${request.url()} ${why}`); // who leaves a page, or a chat, aborts
    });
  };
  const context = async (options = {}) => {
    const made = real ? browser.contexts()[0] : await browser.newContext(options);
    made.setDefaultTimeout(patience);
    made.on("page", watch);
    return made;
  };
  const everyday = await context();
  const shot = async (page, name) => {
    await page.screenshot({ path: path.join(SHOTS, `${String(++pictures).padStart(2, "0")}-${name}.png`), animations: "disabled" });
  };
  const tab = async (url, { context = everyday, script = null } = {}) => {
    const page = await context.newPage();
    if (script) await page.addInitScript(script);
    if (url) await page.goto(url);
    return page;
  };
  try {
    await act({ site: SITE, context: everyday, newContext: context, tab, shot, ask, until, assert, allow: (...patterns) => complaints.allow(...patterns), complaints, browser });
    assert.deepEqual(complaints.left, [], "what pages complained of, unannounced");
    console.log("done");
  } catch (error) {
    console.log(error?.stack ?? String(error));
    for (const what of complaints.left) console.log("and a page complained:", what);
    for (const page of browser.contexts().flatMap((c) => c.pages())) await page.screenshot({ path: path.join(SHOTS, `failed-${++pictures}.png`), timeout: 5000 }).catch(() => {});
    process.exitCode = 1;
  } finally {
    if (real) await browser.close().catch(() => {});
    await first.close().catch(() => {});
    process.stdin.destroy();
  }
}
