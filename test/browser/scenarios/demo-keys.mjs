// The demo with the keyboard alone: send, approve, fill in, stop, open the wire, kill the producer.
import { clean, is, open, pending, saved, send, shows, talk } from "../lib/demo.mjs";
import { scenario } from "../lib/scenario.mjs";

await scenario(async (s) => {
  const { ask, assert, shot, site, until } = s;
  const page = await open(s, "keys");
  await is(page, "idle");
  /** Tabs on, in this direction, until what is focused is it. */
  const tabTo = async (name, key = "Tab") => {
    for (let i = 0; i < 60; i++) {
      const at = await page.evaluate(() => `${document.activeElement.innerText || document.activeElement.getAttribute("aria-label") || ""} ${document.activeElement.dataset.testid ?? ""} ${document.activeElement.labels?.[0]?.innerText ?? ""}`);
      if (name.test(at)) {
        const visible = await page.evaluate(() => { const style = getComputedStyle(document.activeElement); return style.outlineStyle !== "none" || style.boxShadow !== "none" || getComputedStyle(document.activeElement.parentElement).boxShadow !== "none" || document.activeElement.matches(".box textarea"); });
        assert.ok(visible, `one sees where the focus is: ${at}`);
        return;
      }
      await page.keyboard.press(key);
    }
    throw new Error(`nothing called ${name} can be reached with ${key}`);
  };

  // Sent, approved, and a form filled in, which all comes back in what the agent says.
  await send(page, "form and approval please");
  await pending(page).getByRole("button", { name: "Allow", exact: true }).waitFor();
  await shot(page, "permission");
  await tabTo(/^Allow/, "Shift+Tab");
  await page.keyboard.press("Enter");
  await pending(page).getByLabel("Colour").waitFor();
  await tabTo(/Colour/, "Shift+Tab");
  await page.keyboard.type("blue");
  await tabTo(/How many/);
  await page.keyboard.type("7");
  await page.keyboard.press("Enter");
  await saved(page);
  const [, [, answer]] = await talk(page);
  assert.match(answer, /You allowed it/);
  assert.match(answer, /blue/);
  assert.match(answer, /7/);
  assert.equal(await page.getByTestId("composer").evaluate((field) => field === document.activeElement), true, "who has answered goes on writing");
  const { turns } = await fetch(`${site}/chat/keys/history`).then((r) => r.json());
  const text = turns[0].events.filter((e) => e.type.startsWith("TEXT_MESSAGE")).map((e) => e.delta ?? "").join("");
  assert.equal(answer, text, "the page and the history say the same, to the byte");
  await shot(page, "form-answered");
  await page.reload();
  await shows(page, [["user", "form and approval please"], ["assistant", text]]);

  // A long answer, stopped with Escape; and with the button.
  await send(page, "long one");
  await is(page, "live");
  await page.waitForFunction(() => document.querySelectorAll("[data-kind=assistant]").length === 2);
  await page.keyboard.press("Escape");
  await is(page, "ended");
  await send(page, "long again");
  await page.waitForFunction(() => document.querySelectorAll("[data-kind=assistant]").length === 3);
  await tabTo(/Stop/);
  await page.keyboard.press("Enter");
  await is(page, "ended");

  // The wire: opened, read, closed.
  await tabTo(/wire-toggle/, "Shift+Tab");
  await page.keyboard.press("Enter");
  await page.getByTestId("wire").getByText("/chat/stop").first().waitFor();
  await page.getByTestId("wire").getByText(/STREAM_END|END/).first().waitFor();
  await shot(page, "wire");
  await tabTo(/Close the wire|wire-toggle/);
  await page.keyboard.press("Enter");
  await until("the wire is closed", async () => !(await page.getByTestId("wire").isVisible()));

  // A producer killed in mid-sentence: the answer stays, and is not called saved. Another tab sees the same.
  const second = await open(s, "keys");
  await send(page, "long story");
  for (const p of [page, second]) await p.waitForFunction(() => document.querySelectorAll("[data-kind=assistant]").length === 4, null, { polling: 40 });
  await tabTo(/Kill producer|kill/, "Shift+Tab");
  await page.keyboard.press("Enter");
  await page.getByText(/producer is dead/i).first().waitFor();
  await shot(page, "killed");
  for (const p of [page, second]) {
    await is(p, "ended");
    await saved(p, "false");
    await p.getByTestId("saved").getByText(/not saved/i).waitFor();
  }
  const down = page.getByRole("button", { name: "To the newest" }); // the way back with the Tab key has gone through the first messages
  if (await down.isVisible()) await down.click();
  await shot(page, "abandoned");
  assert.deepEqual(await talk(second), await talk(page));
  assert.equal((await fetch(`${site}/chat/keys/history`).then((r) => r.json())).turns.length, 3, "it is in no history");

  // And another one answers.
  await page.getByTestId("composer").focus();
  await send(page, "quick");
  await saved(page);
  await clean(s, page, second);
});
