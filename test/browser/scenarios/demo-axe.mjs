// What axe-core finds on the demo's page in each of its looks.
import { readFileSync } from "node:fs";
import { clean, is, open, pending, saved, send } from "../lib/demo.mjs";
import { scenario } from "../lib/scenario.mjs";

const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

await scenario(async (s) => {
  const { assert, shot, newContext, until } = s;
  const minor = new Map();
  const check = async (page, what) => {
    await page.evaluate(axe); // not as a script of the page, which its policy forbids
    const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    const words = (v) => `${v.id} (${v.impact}): ${v.help}; ${v.nodes.slice(0, 3).map((n) => `${n.target} ${n.failureSummary}`).join(" | ")}`;
    assert.deepEqual(found.violations.filter((v) => ["serious", "critical"].includes(v.impact)).map(words), [], what);
    for (const v of found.violations) minor.set(v.id, words(v));
    await shot(page, what);
  };
  for (const colorScheme of ["light", "dark"]) {
    for (const [size, viewport] of Object.entries({ wide: { width: 1280, height: 800 }, narrow: { width: 360, height: 640 } })) {
      const context = await newContext({ colorScheme, viewport, reducedMotion: size === "narrow" ? "reduce" : "no-preference", hasTouch: size === "narrow" });
      const look = `${colorScheme}-${size}`;
      const page = await open(s, `look-${look}`, { context });
      await is(page, "idle");
      const brief = look === "dark-narrow"; // the colours are those of the wide one, and the places those of the light one
      if (!brief) await check(page, `${look}-empty`);
      await send(page, "approval form");
      await pending(page).getByRole("button", { name: "Allow", exact: true }).waitFor();
      await check(page, `${look}-question`);
      if (brief) {
        await context.close();
        continue;
      }
      await pending(page).getByRole("button", { name: "Allow", exact: true }).click();
      await pending(page).getByLabel("Colour").waitFor();
      await check(page, `${look}-form`);
      await pending(page).getByLabel("Colour").selectOption("red");
      await pending(page).getByRole("button", { name: /send|submit|answer/i }).click();
      await saved(page);
      await page.getByTestId("wire-toggle").click();
      await until("the wire is open", () => page.getByTestId("wire").isVisible());
      await check(page, `${look}-wire`);
      if (size === "narrow") {
        await page.keyboard.press("Escape");
        if (await page.getByTestId("wire").isVisible()) await page.getByRole("button", { name: "Close the wire" }).click();
        await page.getByRole("button", { name: "Chats" }).click();
        await until("the chats are shown", () => page.getByTestId("chats").isVisible());
        await check(page, `${look}-chats`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
        assert.equal(wide, false, "nothing is wider than the screen");
      }
      await clean(s, page);
      await context.close();
    }
  }
  for (const words of minor.values()) console.log("minor:", words);
});
