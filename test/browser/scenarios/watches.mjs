// That the other scenarios can fail: what they watch for is seen.
import { watch } from "../lib/client.mjs";
import { scenario } from "../lib/scenario.mjs";

await scenario(async (s) => {
  const { allow, assert, complaints, site, tab, until } = s;
  const page = await tab(null, { script: watch });
  await page.goto(`${site}/fixture/blank.html`);
  const sees = async (html, what) => {
    await page.evaluate((html) => { window.__twice.length = 0; document.body.innerHTML = `<div data-testid="messages">${html}</div>`; }, html);
    assert.match((await page.evaluate(() => window.__twice)).join(), what);
  };
  const message = (id, text, kind = "assistant") => `<p data-kind="${kind}" data-id="${id}"><span data-testid="text">${text}</span></p>`;
  const text = "a text that is long enough to be told from another one";
  await sees(message("a", text) + message("b", "something else"), /^$/);
  await sees(message("u", text, "user") + message("v", text, "user"), /^$/);
  await sees(message("a", text) + message("a", "something else"), /two elements of a/);
  await sees(message("a", text) + message("b", text), /two messages say/);
  await sees(message("a", text + text), /a begins again/);
  // A moment is enough, though nobody has seen it.
  await page.evaluate(() => { window.__twice.length = 0; });
  await page.evaluate((html) => {
    const place = document.querySelector("[data-testid=messages]");
    place.innerHTML = html;
    return Promise.resolve().then(() => { place.lastElementChild.remove(); });
  }, message("a", text) + message("b", text));
  assert.equal((await page.evaluate(() => window.__twice)).length, 1);

  const complained = [
    [/console error .*a fault/, () => console.error("a fault")],
    [/console warning .*a doubt/, () => console.warn("a doubt")],
    [/uncaught .*a throw/, () => { setTimeout(() => { throw new Error("a throw"); }); }],
    [/uncaught .*a rejection/, () => { void Promise.reject(new Error("a rejection")); }],
    [/console error .*404/, () => fetch("/nowhere").then(() => {})],
    [/failed .*ERR_/, () => fetch("http://127.0.0.1:1/").catch(() => {})],
    [/asked somebody else/, () => { new Image().src = "http://example.invalid/pixel"; }],
  ];
  for (const [what, make] of complained) {
    await page.evaluate(make);
    await until(`it is seen: ${what}`, async () => complaints.left.some((c) => what.test(c)));
  }
  allow(...complained.map(([what]) => what), /net::ERR_/);
});
