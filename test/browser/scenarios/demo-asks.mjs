// What the agent asks, in two tabs: APP-01, APP-02, APP-03, APP-04 as they show in a browser.
import { clean, is, open, pending, send, shows, talk } from "../lib/demo.mjs";
import { scenario } from "../lib/scenario.mjs";
import { deltas, said, start } from "../lib/words.mjs";

const permission = { name: "demo.permission", value: { title: "May I?", options: [{ optionId: "allow", name: "Allow", kind: "allow_once" }, { optionId: "deny", name: "Deny", kind: "reject_once" }] }, options: ["allow", "deny"] };
const form = { name: "demo.form", value: { title: "How shall I go on?", message: "Choose a colour, and say how many.", requestedSchema: { type: "object", required: ["colour"], properties: {
  colour: { type: "string", title: "Colour", enum: ["red", "green", "blue"] }, count: { type: "integer", title: "How many", minimum: 1, maximum: 10 } } } } };

await scenario(async (s) => {
  const { ask, assert, allow, shot, until } = s;
  const a = await open(s, "c");
  const b = await open(s, "c");
  await send(a, "hello");
  await ask("begun", { chat: "c" });
  await ask("say", { chat: "c", events: [start("m1"), ...deltas(1, 5, "m1")] });
  const shown = [["user", "hello"], ["assistant", said(5, "m1")]];
  for (const page of [a, b]) await shows(page, shown);

  // Asked in both tabs, under one id, and still after a reload of one.
  await ask("ask", { chat: "c", question: permission });
  for (const page of [a, b]) await pending(page).getByRole("button", { name: "Allow", exact: true }).waitFor();
  const id = await pending(a).getAttribute("data-request");
  await b.reload();
  await pending(b).getByRole("button", { name: "Deny" }).waitFor();
  assert.equal(await pending(b).getAttribute("data-request"), id);
  await shot(b, "asked");

  // Both answer in the same moment: one wins, and both tabs show which.
  allow(/status of 409/);
  await ask("forget");
  await ask("hold", true); // neither tab hears of the other before both have answered
  await Promise.all([pending(a).getByRole("button", { name: "Allow", exact: true }).click(), pending(b).getByRole("button", { name: "Deny" }).click()]);
  const answered = async () => (await ask("traffic")).requests.filter((r) => r.path === "/chat/answer" && r.status > 0);
  await until("both have been answered", async () => (await answered()).length === 2);
  await ask("hold", false);
  for (const page of [a, b]) {
    await until("the question is closed", async () => (await pending(page).count()) === 0);
    await page.locator(`[data-testid=question][data-request="${id}"][data-state=selected]`).waitFor();
    assert.equal(await page.locator("[data-testid=question] button").count(), 0, "nothing is left to click");
  }
  assert.deepEqual((await answered()).map((r) => r.status).sort(), [200, 409], "one of them won");
  const outcomes = await Promise.all([a, b].map((page) => page.locator(`[data-testid=question][data-request="${id}"]`).innerText()));
  assert.equal(outcomes[0], outcomes[1], "both tabs show the same answer");
  await shot(b, "one-answer-won");

  // A form, filled in with labels and the keyboard, and sent by one tab.
  await ask("say", { chat: "c", events: deltas(6, 10, "m1") });
  await ask("ask", { chat: "c", question: form });
  await pending(a).getByLabel("Colour").waitFor();
  await pending(b).getByLabel("Colour").selectOption("green");
  await pending(b).getByLabel("How many").fill("3");
  await shot(b, "form");
  await pending(b).getByRole("button", { name: /send|submit|answer/i }).click();
  for (const page of [a, b]) {
    await until("the form is closed", async () => (await pending(page).count()) === 0);
    await page.getByText("colour: green, count: 3").waitFor();
  }

  // APP-02: nothing comes alive again in a reload, nor in a late tab.
  const late = await open(s, "c");
  await a.reload();
  for (const page of [a, late]) {
    await shows(page, [["user", "hello"], ["assistant", said(10, "m1")]]);
    await is(page, "live");
    assert.equal(await pending(page).count(), 0);
    assert.equal(await page.locator("[data-testid=question]").count(), 2, "both are shown as answered");
  }
  await shot(late, "answered");

  // APP-04: stopped while it waits: the question closes in every tab.
  await ask("ask", { chat: "c", question: permission });
  await pending(late).getByRole("button", { name: "Deny" }).waitFor();
  await a.getByTestId("stop").click();
  for (const page of [a, b, late]) {
    await until("the question is closed", async () => (await pending(page).count()) === 0);
    await is(page, "ended");
  }
  await shot(late, "stopped-while-asking");
  assert.deepEqual(await talk(late), await talk(a));
  await clean(s, a, b, late);
});
