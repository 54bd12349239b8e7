// What the scenarios on the demo's page share. They look at what people see: roles, labels, data-testid.
import { readFileSync } from "node:fs";
import { patience } from "./scenario.mjs";

const watch = readFileSync(new URL("./watch.js", import.meta.url), "utf8");
const noteViolations = `window.__violations = []; document.addEventListener("securitypolicyviolation", (e) => window.__violations.push(e.violatedDirective + " " + e.blockedURI));`;

/** Opens the demo on a chat. */
export async function open(s, chat, options = {}) {
  const page = await s.tab(null, { ...options, script: watch + noteViolations });
  await page.goto(`${s.site}/demo?chat=${encodeURIComponent(chat)}`);
  return page;
}

/** What people and the agent have said, in order: [["user", "hello"], …]. */
export const talk = (page) => page.evaluate(() => [...document.querySelectorAll("[data-testid=messages] [data-kind]")]
  .filter((m) => ["user", "assistant", "error"].includes(m.dataset.kind)).map((m) => [m.dataset.kind, m.querySelector("[data-testid=text]").textContent]));

/** Waits until exactly this has been said, and returns after how many milliseconds. */
export async function shows(page, want, within = patience) {
  const begun = performance.now();
  for (let last = ""; ; await new Promise((done) => setTimeout(done, 15))) {
    const have = await talk(page).catch((e) => [String(e)]); // in the midst of a reload
    if (JSON.stringify(have) === JSON.stringify(want)) return Math.round(performance.now() - begun);
    last = JSON.stringify(have);
    if (performance.now() - begun > within) throw new Error(`the page does not show\n${JSON.stringify(want)}\nbut\n${last}`);
  }
}

/** Writes a message and sends it, with the keyboard alone. */
export async function send(page, words) {
  await page.getByTestId("composer").focus();
  await page.keyboard.type(words);
  await page.keyboard.press("Enter");
}

export const is = (page, ...statuses) => page.waitForFunction((all) => all.includes(document.querySelector("[data-testid=status]")?.dataset.status), statuses, { polling: 40 });
export const saved = (page, yes = "true") => page.waitForFunction((yes) => document.querySelector("[data-testid=saved]")?.dataset.saved === yes, yes, { polling: 40 });

/** Questions that can be answered, by request id. */
export const pending = (page) => page.locator("[data-testid=question][data-state=pending]");

/** Fails for what was shown twice at any moment, and for what the page's policy has refused. */
export async function clean(s, ...pages) {
  for (const page of pages) {
    s.assert.deepEqual(await page.evaluate(() => window.__twice), [], "something was shown twice");
    s.assert.deepEqual(await page.evaluate(() => window.__violations), [], "the page's own policy was violated");
  }
}
