// Ten tabs watch one long answer, and each stays smooth: how long its frames and its tasks take.
import { clean, is, open, send, talk } from "../lib/demo.mjs";
import { scenario } from "../lib/scenario.mjs";

const measure = () => {
  window.__smooth = { frames: 0, gaps: [], long: [] };
  new PerformanceObserver((list) => { for (const e of list.getEntries()) window.__smooth.long.push(Math.round(e.duration)); }).observe({ type: "longtask", buffered: false });
  let last = performance.now();
  const frame = (now) => {
    window.__smooth.frames++;
    window.__smooth.gaps.push(now - last);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
};

await scenario(async (s) => {
  const { assert, shot, site } = s;
  const tabs = [];
  for (let i = 0; i < 10; i++) tabs.push(await open(s, "smooth"));
  await send(tabs[0], "a long one, please");
  for (const page of tabs) await is(page, "live");
  for (const page of tabs) await page.evaluate(measure);
  await tabs[9].waitForTimeout(8000); // how long it is measured
  const all = await Promise.all(tabs.map((page) => page.evaluate(() => {
    const { gaps, long, frames } = window.__smooth;
    const sorted = [...gaps].sort((a, b) => a - b);
    return { frames, p50: Math.round(sorted[sorted.length >> 1]), p95: Math.round(sorted[Math.floor(sorted.length * 0.95)]), longest: Math.round(sorted.at(-1)), longTasks: long.length, busy: long.reduce((a, b) => a + b, 0), longTask: Math.max(0, ...long), nodes: document.querySelectorAll("*").length };
  })));
  for (const [i, one] of all.entries()) console.log(`tab ${i}: ${JSON.stringify(one)}`);
  await shot(tabs[5], "ten-tabs");
  // Ten tabs that all paint share two processors and no graphics card here; a tab that does too much for each event would hold up by seconds.
  for (const one of all) {
    assert.ok(one.longTask < 1000, `a task of ${one.longTask} ms`);
    assert.ok(one.longest < 2000, `${one.longest} ms without a frame`);
    assert.ok(one.busy < 4000, `${one.busy} of 8000 ms in tasks of more than 50 ms`);
    assert.ok(one.p50 <= 100, `every other frame takes more than ${one.p50} ms`);
  }
  await tabs[3].keyboard.press("Escape");
  for (const page of tabs) await is(page, "ended");
  const first = await talk(tabs[0]);
  for (const page of tabs) assert.deepEqual(await talk(page), first, "all say the same");
  const { most } = await s.ask("traffic");
  console.log(`connections at once: ${most}`);
  await clean(s, ...tabs);
});
