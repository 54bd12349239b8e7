// What a person does in the demo: send, reload in mid-answer, go to another chat and back, open a second tab, stop.
import { clean, is, open, saved, send, shows, talk } from "../lib/demo.mjs";
import { scenario } from "../lib/scenario.mjs";
import { deltas, end, said, start } from "../lib/words.mjs";

await scenario(async (s) => {
  const { allow, ask, assert, shot, site } = s;
  const page = await open(s, "c");
  await is(page, "idle");
  await shot(page, "empty");

  // Sent, and loaded again in mid-answer: it goes on, and is completed.
  await send(page, "hello");
  const { run, input } = await ask("begun", { chat: "c" });
  assert.equal(input.text, "hello");
  await ask("say", { chat: "c", events: [start("a1"), ...deltas(1, 30, "a1")] });
  const half = [["user", "hello"], ["assistant", said(30, "a1")]];
  await shows(page, half);
  await is(page, "live");
  await shot(page, "mid-answer");
  for (const to of [60, 90, 120]) {
    await page.reload();
    await ask("say", { chat: "c", events: deltas(to - 29, to, "a1") });
    await shows(page, [["user", "hello"], ["assistant", said(to, "a1")]]);
    await clean(s, page);
  }
  await shot(page, "reloaded");

  // The network goes, which the page says, and comes back.
  allow(/net::ERR_/);
  await s.context.setOffline(true);
  await ask("cut");
  await is(page, "recovering");
  await page.getByRole("status").getByText(/catching up/).waitFor();
  await shot(page, "offline");
  await shows(page, [["user", "hello"], ["assistant", said(120, "a1")]]);
  await s.context.setOffline(false);
  await is(page, "live");
  assert.equal(await page.getByTestId("saved").getAttribute("data-saved"), "pending");
  await ask("say", { chat: "c", events: [end("a1")] });
  await ask("end", { chat: "c" });
  await saved(page);
  await shows(page, [["user", "hello"], ["assistant", said(120, "a1")]]);
  await shot(page, "saved");
  const { events } = await fetch(`${site}/runs/${run}/snapshot`).then((r) => r.json());
  assert.equal(said(120, "a1"), events.map((e) => e.delta ?? "").join(""), "the same text from a snapshot");
  await page.reload();
  await shows(page, [["user", "hello"], ["assistant", said(120, "a1")]]); // from the history now
  const one = [["user", "hello"], ["assistant", said(120, "a1")]];

  // To another chat while this one answers, and back.
  await send(page, "second");
  await ask("begun", { chat: "c" });
  await ask("say", { chat: "c", events: [start("a2"), ...deltas(1, 10, "a2")] });
  await shows(page, [...one, ["user", "second"], ["assistant", said(10, "a2")]]);
  await page.getByTestId("new-chat").click();
  await shows(page, []);
  const other = new URL(page.url()).searchParams.get("chat");
  assert.notEqual(other, "c");
  await send(page, "elsewhere");
  await ask("begun", { chat: other });
  await ask("say", { chat: other, events: [start("b1"), ...deltas(1, 5, "b1")] });
  await shows(page, [["user", "elsewhere"], ["assistant", said(5, "b1")]]);
  await ask("say", { chat: "c", events: deltas(11, 50, "a2") });
  await shot(page, "another-chat");
  await page.locator("[data-testid=chat-item][data-chat=c]").click();
  await shows(page, [...one, ["user", "second"], ["assistant", said(50, "a2")]]);
  await ask("say", { chat: "c", events: deltas(51, 60, "a2") });
  await shows(page, [...one, ["user", "second"], ["assistant", said(60, "a2")]]);
  await page.goBack();
  await shows(page, [["user", "elsewhere"], ["assistant", said(5, "b1")]]);
  await page.goForward();
  await shows(page, [...one, ["user", "second"], ["assistant", said(60, "a2")]]);

  // A second tab, in the middle; one of them stops.
  const second = await open(s, "c");
  await shows(second, [...one, ["user", "second"], ["assistant", said(60, "a2")]]);
  await ask("say", { chat: "c", events: deltas(61, 70, "a2") });
  const two = [...one, ["user", "second"], ["assistant", said(70, "a2")]];
  for (const p of [page, second]) await shows(p, two);
  await second.getByTestId("stop").click();
  for (const p of [page, second]) await p.waitForFunction(() => /stopped/i.test(document.querySelector("[data-testid=saved]").textContent), null, { polling: 40 });
  await shot(second, "stopped");
  for (const p of [page, second]) await shows(p, two);

  // STOP-04: a late tab sees the same as both.
  const late = await open(s, "c");
  await shows(late, two);
  assert.deepEqual([await talk(page), await talk(second)], [two, two]);
  await ask("end", { chat: other });
  await clean(s, page, second, late);
});
