// An attempt on an address that gives nothing lands on the history, whatever way it gives nothing.
import { clean, is, open, shows } from "../lib/demo.mjs";
import { scenario } from "../lib/scenario.mjs";
import { deltas, end, said, start } from "../lib/words.mjs";

await scenario(async (s) => {
  const { ask, allow, assert, shot, site } = s;
  await fetch(`${site}/chat/send`, { method: "POST", body: JSON.stringify({ chat_id: "c", input: { text: "hello" } }) });
  await ask("begun", { chat: "c" });
  await ask("say", { chat: "c", events: [start("m1"), ...deltas(1, 20, "m1"), end("m1")] });
  await ask("end", { chat: "c" });
  const history = [["user", "hello"], ["assistant", said(20, "m1")]];
  allow(/net::ERR_/, /status of (401|403|404|502|503)/);
  const dead = {
    "no answer": { status: 0 }, "401": { status: 401 }, "403": { status: 403 }, "404": { status: 404 }, "503": { status: 503 },
    "an empty 200": { status: 200, header: { "Content-Type": "text/event-stream" } }, "a proxy's page": { status: 200, header: { "Content-Type": "text/html" }, body: "<p>Sign in" },
  };
  const page = await open(s, "c");
  await shows(page, history);
  for (const [what, answer] of Object.entries(dead)) {
    await ask("forget");
    for (const path of ["/chat/live", "/chats/live"]) await ask("fail", { path, times: 1000, ...answer });
    await page.reload();
    const ms = await shows(page, history);
    console.log(`${what}: the history after ${ms} ms`);
    assert.equal(await page.getByTestId("composer").isEnabled(), true, "and one can go on writing");
  }
  await shot(page, "history-of-a-dead-address");
  // It lives again, and the page comes back when it is asked to.
  await ask("forget");
  await page.reload();
  await is(page, "idle");
  await shows(page, history);
  await clean(s, page);
});
