// TAB-03: two tabs on one chat, and runs that one of them, or neither, has begun.
import { clean, is, open, saved, send, shows } from "../lib/demo.mjs";
import { scenario } from "../lib/scenario.mjs";
import { deltas, end, said, start } from "../lib/words.mjs";

await scenario(async (s) => {
  const { allow, ask, assert, shot, site } = s;
  const a = await open(s, "c");
  const b = await open(s, "c");
  for (const page of [a, b]) await is(page, "idle");
  const all = [];
  const took = { question: [], answer: [] };
  const turn = async (words, id, begin) => {
    const begun = performance.now();
    await begin();
    await ask("begun", { chat: "c" });
    all.push(["user", words]);
    for (const page of [b, a]) await shows(page, all);
    took.question.push(Math.round(performance.now() - begun));
    const saying = performance.now();
    await ask("say", { chat: "c", events: [start(id), ...deltas(1, 20, id)] });
    await ask("say", { chat: "c", events: [...deltas(21, 40, id), end(id)] });
    await ask("end", { chat: "c" });
    all.push(["assistant", said(40, id)]);
    for (const page of [b, a]) await shows(page, all);
    took.answer.push(Math.round(performance.now() - saying));
  };
  for (const n of [1, 2, 3]) await turn(`message ${n}`, `m${n}`, () => send(a, `message ${n}`));

  // Nobody's: a turn that came from a server, while both tabs only watch.
  const post = (text) => fetch(`${site}/chat/send`, { method: "POST", body: JSON.stringify({ chat_id: "c", kind: "heartbeat", input: { text } }) }).then((r) => assert.equal(r.status, 202));
  await turn("the weekly report", "cron", () => post("the weekly report"));
  // And one that ends before anybody can have looked.
  await post("in a moment");
  await ask("begun", { chat: "c" });
  await ask("say", { chat: "c", events: [start("short"), ...deltas(1, 40, "short"), end("short")] });
  await ask("end", { chat: "c" });
  all.push(["user", "in a moment"], ["assistant", said(40, "short")]);
  for (const page of [b, a]) await shows(page, all);
  for (const page of [b, a]) await saved(page);
  await shot(b, "the-second-tab");

  // And one that has come and gone while both were without a network: it is there when they are back, without a reload.
  // Most of all in a tab that has only seen the history, and knows of no run.
  const idle = await open(s, "c");
  await shows(idle, all);
  await is(idle, "idle");
  allow(/net::ERR_/);
  await s.context.setOffline(true);
  await ask("refuse", true); // or Chromium sends a wait that is cut again by itself
  const lost = Promise.all([idle, b, a].map((page) => page.waitForEvent("requestfailed")));
  await ask("cut");
  await lost;
  await ask("refuse", false);
  await post("while you were away");
  await ask("begun", { chat: "c" });
  await ask("say", { chat: "c", events: [start("away"), ...deltas(1, 40, "away"), end("away")] });
  await ask("end", { chat: "c" });
  const turns = () => fetch(`${site}/chat/c/history`).then((r) => r.json()).then((h) => h.turns.length);
  for (const had = all.length / 2; await turns() < had + 1; );
  await s.until("nothing is left to watch", async () => {
    const answer = await fetch(`${site}/chat/live`, { method: "POST", body: JSON.stringify({ chat_id: "c", protocol: 1 }) });
    await answer.body?.cancel();
    return answer.status === 204;
  });
  await s.context.setOffline(false);
  all.push(["user", "while you were away"], ["assistant", said(40, "away")]);
  for (const page of [idle, b, a]) console.log(`back, and what was missed after ${await shows(page, all)} ms`);

  await clean(s, idle);
  await idle.close();

  // A run of a producer's own has no message before it, nor a place in the history.
  await ask("start", { chat: "c" });
  await ask("say", { chat: "c", events: [start("own"), ...deltas(1, 10, "own")] });
  for (const page of [b, a]) await shows(page, [...all, ["assistant", said(10, "own")]]);

  // Three tabs have a stream of their own. Others share one of them, and show what it carries all the same.
  const more = [];
  for (let i = 0; i < 3; i++) more.push(await open(s, "c"));
  for (const page of more) {
    await shows(page, [...all, ["assistant", said(10, "own")]]);
    await page.getByTestId("wire-toggle").click();
  }
  await ask("say", { chat: "c", events: deltas(11, 20, "own") });
  let sharing = 0;
  for (const page of more) {
    await shows(page, [...all, ["assistant", said(20, "own")]]);
    await page.locator("[data-testid=wire] [data-frame=STREAM_EVENT]").getByText("own.20").waitFor();
    sharing += await page.locator("[data-testid=wire] .shared").count();
  }
  assert.ok(sharing >= 1, "none says that it shares a stream");
  await shot(more[2], "a-stream-that-is-shared");
  await clean(s, ...more);
  console.log(`seen in both tabs after, in ms: ${JSON.stringify(took)}`);
  for (const ms of [...took.question, ...took.answer]) assert.ok(ms < 5000, `${ms} ms`);
  await clean(s, a, b);
});
