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
  const { assert, shot } = s;
  const tabs = await Promise.all(Array.from({ length: 10 }, () => open(s, "smooth")));
  await send(tabs[0], "a long one, please");
  for (const page of tabs) await is(page, "live");
  const sessions = await Promise.all(tabs.map((page) => s.context.newCDPSession(page)));
  for (const cdp of sessions) await cdp.send("Performance.enable", { timeDomain: "threadTicks" }); // what the page itself takes of a processor, however many others want it
  const cost = () => Promise.all(sessions.map((cdp) => cdp.send("Performance.getMetrics").then(({ metrics }) => Object.fromEntries(metrics.map((m) => [m.name, m.value])))));
  for (const page of tabs) await page.evaluate(measure);
  const before = await cost();
  await tabs[9].waitForTimeout(5000); // how long it is measured
  const all = await Promise.all(tabs.map((page) => page.evaluate(() => {
    const { gaps, long, frames } = window.__smooth;
    const sorted = [...gaps].sort((a, b) => a - b);
    return { frames, p50: Math.round(sorted[sorted.length >> 1]), p95: Math.round(sorted[Math.floor(sorted.length * 0.95)]), longest: Math.round(sorted.at(-1)), longTasks: long.length, busy: long.reduce((a, b) => a + b, 0), longTask: Math.max(0, ...long), nodes: document.querySelectorAll("*").length };
  })));
  const after = await cost();
  for (const [i, one] of all.entries()) {
    for (const what of ["Task", "Script", "Layout", "RecalcStyle"]) one[`${what.toLowerCase()}Ms`] = Math.round(1000 * (after[i][`${what}Duration`] - before[i][`${what}Duration`]));
  }
  for (const [i, one] of all.entries()) console.log(`tab ${i}: ${JSON.stringify(one)}`);
  await shot(tabs[5], "ten-tabs");
  // Ten tabs that all paint share two processors and no graphics card here, so frames say more about the machine than about the page: what
  // the page takes is the claim, and the frames are bounded by what would be felt as standing still.
  for (const one of all) {
    assert.ok(one.taskMs < 1500, `the page took ${one.taskMs} of 5000 ms of a processor`);
    assert.ok(one.p50 <= 200, `every other frame took more than ${one.p50} ms`);
    assert.ok(one.longest < 3000, `${one.longest} ms without a frame`);
  }
  await tabs[3].keyboard.press("Escape");
  for (const page of tabs) await is(page, "ended");
  const first = await talk(tabs[0]);
  for (const page of tabs) assert.deepEqual(await talk(page), first, "all say the same");
  const { most } = await s.ask("traffic");
  console.log(`connections at once: ${most}`);
  await clean(s, ...tabs);
});
