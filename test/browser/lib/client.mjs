// What the scenarios on the page with the bare client share.
import { readFileSync } from "node:fs";

export const watch = readFileSync(new URL("./watch.js", import.meta.url), "utf8");

/** Opens the page on a chat. `options` is for the connection, `flags` for the page: seed, alone, token. */
export async function open(s, chat, { options = {}, flags = [], ...more } = {}) {
  const query = new URLSearchParams({ chat, options: JSON.stringify(options) });
  for (const flag of flags) query.set(flag, "1");
  const page = await s.tab(null, { ...more, script: watch });
  await page.goto(`${s.site}/fixture/client.html?${query}`);
  return page;
}

/** Waits until the page shows exactly this text of a message. */
export const shows = (page, text, id = "m") =>
  page.waitForFunction(({ text, id }) => window.rejoin?.texts[id] === text && document.querySelector(`[data-id="${id}"] [data-testid=text]`)?.textContent === text, { text, id }, { polling: 40 }); // a hidden page has no frames to look in

export const is = (page, ...statuses) => page.waitForFunction((statuses) => statuses.includes(window.rejoin?.state.status), statuses, { polling: 40 });

export const state = (page) => page.evaluate(() => ({ ...window.rejoin.state, events: window.rejoin.state.events.length }));

/** What a page wrote down. */
export const notes = (page) => page.evaluate(() => ({ words: window.rejoin.words, metrics: window.rejoin.metrics, chats: window.rejoin.chats, asked: window.rejoin.asked }));

/** Fails for a message that was shown twice at any moment. */
export async function neverTwice(s, ...pages) {
  for (const page of pages) s.assert.deepEqual(await page.evaluate(() => window.__twice), [], "something was shown twice");
}
