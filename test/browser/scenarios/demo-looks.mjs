// What the demo's page looks like with what it was not drawn for: words and code without an end, an answer of many pages, more chats than
// fit, and what went wrong. Nothing is wider than the screen, what is said can be read whole, and a failed answer can be asked for again.
import { readFileSync } from "node:fs";
import { clean, is, open, pending, saved, send, shows, talk } from "../lib/demo.mjs";
import { scenario } from "../lib/scenario.mjs";
import { end, say, start } from "../lib/words.mjs";

const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const long = "Donaudampfschifffahrtsgesellschaftskapitän".repeat(12);
const code = "```js\nconst " + "x".repeat(300) + " = 1;\n\tif (a) {\n\t\treturn b;\n\t}\n```";
const pages = Array.from({ length: 400 }, (_, i) => `Paragraph ${i} of an answer that does not end, and that somebody reads to its end all the same.`).join("\n\n");
const axed = new Set(["long-words", "failed", "no-network"]); // the others are looked at elsewhere
const book = Array.from({ length: 60 }, (_, i) => ({ id: `old-${i}`, title: i === 3 ? long.slice(0, 60) : `Chat ${i} about something that takes a few words`, at: 60 - i }));

await scenario(async (s) => {
  const { allow, ask, assert, newContext, shot } = s;
  allow(/net::ERR_/);
  for (const [look, options] of Object.entries({
    "light-wide": { colorScheme: "light", viewport: { width: 1280, height: 800 } },
    "dark-narrow": { colorScheme: "dark", viewport: { width: 390, height: 844 }, hasTouch: true },
  })) {
    const context = await newContext(options);
    await context.addInitScript((book) => { if (location.protocol.startsWith("http") && !localStorage.getItem("rejoin-demo-chats")) localStorage.setItem("rejoin-demo-chats", JSON.stringify(book)); }, book);
    const chat = `looks-${look}`;
    const page = await open(s, chat, { context });
    const fits = async (what) => {
      const wide = await page.evaluate(() => [...document.querySelectorAll("html, .main, .scroll, .column, .message, .question, .chats, .wire")]
        .filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).position !== "absolute").map((e) => `${e.className || e.tagName} ${e.scrollWidth} > ${e.clientWidth}`));
      assert.deepEqual(wide, [], `${look}, ${what}: wider than its place`);
      if (axed.has(what)) {
        await page.evaluate(axe);
        const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
        assert.deepEqual(found.violations.filter((v) => ["serious", "critical"].includes(v.impact)).map((v) => `${v.id}: ${v.help}; ${v.nodes[0].target}`), [], `${look}, ${what}`);
      }
      await shot(page, `${look}-${what}`);
    };
    await is(page, "idle");
    await fits("empty");

    // Words and code without an end, and a tool that is given and gives much.
    await send(page, `${long} and what comes after it`);
    await ask("begun", { chat });
    const json = JSON.stringify(Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`field_${i}`, i % 7 ? i : long.slice(0, 120)])));
    await ask("say", { chat, events: [
      { type: "TOOL_CALL_START", toolCallId: "t", toolCallName: `read_${"everything_".repeat(8)}` }, { type: "TOOL_CALL_ARGS", toolCallId: "t", delta: json }, { type: "TOOL_CALL_END", toolCallId: "t" },
      { type: "TOOL_CALL_RESULT", toolCallId: "t", messageId: "tr", content: json },
      start("a1"), say(`It is this: ${long}\n\n${code}\n\nA line after it.`, "a1"), end("a1"),
    ] });
    await page.getByText("A line after it.").waitFor();
    await ask("ask", { chat, question: { name: "q.permission.request", options: ["a", "b"], value: { title: `May I remove ${long.slice(0, 90)}?`, message: "There is no way back. ".repeat(8), options: [
      { optionId: "a", name: `Remove ${long.slice(0, 80)} for ever`, kind: "allow_once" }, { optionId: "b", name: "Keep it", kind: "reject_once" }] } } });
    await pending(page).getByRole("button", { name: "Keep it" }).waitFor();
    await fits("long-words");
    await pending(page).getByRole("button", { name: "Keep it" }).click();

    // The answer fails; asked again, the next one takes its place.
    await ask("end", { chat, fail: "the model is overloaded" });
    await page.getByTestId("again").waitFor();
    await fits("failed");
    await page.getByTestId("again").click();
    const { input } = await ask("begun", { chat });
    assert.equal(input.text, `${long} and what comes after it`);
    await ask("say", { chat, events: [start("a2"), say("Here it is.", "a2"), end("a2")] });
    await ask("end", { chat });
    await saved(page);
    const one = [["user", `${long} and what comes after it`], ["assistant", "Here it is."]];
    await shows(page, one);
    assert.equal(await page.getByTestId("again").isVisible(), false);

    // An answer of many pages.
    await send(page, "tell me all");
    await ask("begun", { chat });
    await ask("say", { chat, events: [start("a3"), say(pages, "a3")] });
    await shows(page, [...one, ["user", "tell me all"], ["assistant", pages]]);
    await page.waitForFunction(() => { const a = document.getElementById("scroll"); return a.scrollHeight - a.scrollTop - a.clientHeight < 80; });
    await fits("many-pages");
    await ask("say", { chat, events: [end("a3")] });
    await ask("end", { chat });
    await saved(page);

    // The network is gone.
    await send(page, "and one more");
    await ask("begun", { chat });
    await ask("say", { chat, events: [start("a4"), say("Half of", "a4")] });
    await page.getByText("Half of").waitFor();
    await context.setOffline(true);
    await ask("cut");
    await is(page, "failed");
    await page.getByTestId("error").getByRole("button", { name: "Try again" }).waitFor();
    await fits("no-network");
    await context.setOffline(false);
    await is(page, "live");
    await page.getByTestId("error").waitFor({ state: "hidden" });
    await ask("say", { chat, events: [say(" it.", "a4"), end("a4")] });
    await ask("end", { chat });
    await saved(page);

    // More chats than fit, and the wire beside them.
    if (look.endsWith("narrow")) {
      await page.getByRole("button", { name: "Chats" }).click();
      await page.getByTestId("chats").waitFor();
    } else {
      await page.getByTestId("wire-toggle").click();
    }
    await fits("many-chats");
    assert.equal((await talk(page)).at(-1)[1], "Half of it.");
    await page.reload();
    await shows(page, [...one, ["user", "tell me all"], ["assistant", pages], ["user", "and one more"], ["assistant", "Half of it."]]);
    await clean(s, page);
    await context.close();
  }
});
