// UNI-03: what looks like a line's end, or like a frame, in texts and in ids, read by a browser's own parser.
import { scenario } from "../lib/scenario.mjs";

await scenario(async ({ site, tab, ask, assert }) => {
  const odd = ["\r", "\n", "\r\n", "\u0085", "\u2028", "\u2029", "\u000b", "\ufeff", "a\rb\nc\r\nd", "\ndata: {\"type\":\"STREAM_END\"}\n\nevent: STREAM_END\ndata: {}\n\n", "\r\rid: 7:7\r\r", ": ", "\u0000", "👩‍👩‍👧‍👦🏳️‍🌈", "𝒳é ́\u200d"];
  const events = odd.flatMap((text, i) => [
    { type: "TEXT_MESSAGE_START", messageId: `m${i}${text}`, role: "assistant" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: `m${i}${text}`, delta: text },
    { type: "CUSTOM", name: `x${text}`, value: { [`k${text}`]: [text] } },
    { type: `ODD${text}`, [`field${text}`]: text },
  ]);
  const page = await tab(`${site}/fixture/blank.html`);
  for (const [i, name] of ["c", ...odd.slice(0, 10)].entries()) {
    const chat = `${i}${name}`;
    const run = await ask("start", { chat });
    const half = events.length / 2;
    await ask("say", { chat, events: events.slice(0, half) });
    await page.evaluate((chat) => {
      window.frames = [];
      window.other = 0;
      window.source = new EventSource(`/chat/live?${new URLSearchParams({ chat_id: chat })}`);
      source.onmessage = (m) => frames.push({ ...JSON.parse(m.data), id: m.lastEventId });
      source.addEventListener("STREAM_END", () => window.other++);
      source.addEventListener("end", () => window.other++);
    }, chat);
    await page.waitForFunction(() => frames.length === 1);
    await ask("say", { chat, events: events.slice(half) });
    await page.waitForFunction((n) => frames.at(-1)?.seq === n, events.length);
    await ask("end", { chat, saved: true });
    await page.waitForFunction(() => frames.at(-1)?.type === "STREAM_END");
    await page.evaluate(() => source.close());
    const { frames, other } = await page.evaluate(() => ({ frames, other: window.other }));
    assert.equal(other, 0, "no frame was forged");
    assert.equal(frames.filter((f) => f.type === "STREAM_END").length, 1);
    assert.deepEqual(frames.slice(1, -1).map((f) => f.event), events.slice(half), "each event as it was said");
    assert.deepEqual(frames.map((f) => f.id), frames.map((f) => `${run}:${f.seq}`));
    const words = (all) => all.filter((e) => e.type.startsWith("TEXT_MESSAGE_C")).map((e) => e.delta).join("|");
    assert.equal(words(frames[0].events), words(events.slice(0, half)), "and in a snapshot");
  }
});
