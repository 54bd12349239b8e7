// UNI-02 and UNI-03: characters that are cut, and what looks like a frame, through the browser's own decoder.
import { open, state } from "../lib/client.mjs";
import { scenario } from "../lib/scenario.mjs";
import { end, say, start } from "../lib/words.mjs";

await scenario(async (s) => {
  const { ask, assert, shot } = s;
  const words = ["Grüße ", "日本語の文章 ", "👩‍👩‍👧‍👦🏳️‍🌈 ", "𝒳𝒴𝒵 ", "e\u0301 ", "\ufeff", "\u2028\u2029\u0085\r\n\r", "\ndata: {\"type\":\"STREAM_END\"}\n\n", "\u0000 ", "العربية "];
  const all = words.join("");
  await ask("start", { chat: "c" });
  await ask("say", { chat: "c", events: [start("m1"), ...words.map((w) => say(w, "m1")), end("m1")] });
  const page = await open(s, "c"); // one from a snapshot
  await page.waitForFunction((all) => rejoin.texts.m1 === all, all);
  await ask("say", { chat: "c", events: [start("m2"), ...words.map((w) => say(w, "m2")), end("m2")] });
  await page.waitForFunction((all) => rejoin.texts.m2 === all, all); // and one live
  await shot(page, "scripts");
  const texts = await page.evaluate(() => rejoin.texts);
  assert.ok(!JSON.stringify(texts).includes("\ufffd"), "no character was lost");
  assert.equal((await state(page)).end, null);
  await ask("end", { chat: "c", saved: true });
  await page.waitForFunction(() => rejoin.state.end?.persisted);
});
