// The examples of README.md on the connection do what they say: each block is a module that is run against a relay, and what it prints is what stands
// behind its arrows.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { inspect } from "node:util";
import { delta, end, event, eventually, problem, relay, snapshot, stream, synced, type Asked } from "./server.js";

// The examples do not close what they open: nothing of that may keep this process.
Reflect.deleteProperty(globalThis, "BroadcastChannel");
const real = globalThis.fetch;
let relayUrl = ""; // of the test under way
globalThis.fetch = ((url: string, init?: RequestInit) =>
  relayUrl ? real(relayUrl + url.replace(/^https:\/\/relay\.example/, ""), init) : Promise.reject(new TypeError("the test is over"))) as typeof fetch;

const root = fileURLToPath(new URL("../../", import.meta.url));
const place = `${root}build/readme/`;
/** The sections about the connection; those on chats, React and the adapters have tests of their own. */
const [sections] = readFileSync(`${root}README.md`, "utf8").split(/^## Show a chat$/m);
const blocks = [...sections!.matchAll(/^```(tsx?)\n([^]*?)^```$/gm)].map(([, kind, code]) => ({ kind: kind!, code: code! }));

before(() => {
  rmSync(place, { recursive: true, force: true });
  mkdirSync(place, { recursive: true });
  blocks.forEach(({ kind, code }, i) => writeFileSync(`${place}block-${i}.${kind}`, `${code}\nexport {};\n`));
  writeFileSync(`${place}tsconfig.json`, JSON.stringify({
    extends: "../../tsconfig.json",
    compilerOptions: { jsx: "react-jsx", noUnusedLocals: false, noUnusedParameters: false, paths: { "@rejoin/client": ["../../src/index.ts"] } },
    include: ["*.ts", "*.tsx"],
  }));
  execFileSync(`${root}node_modules/.bin/tsc`, ["-p", `${place}tsconfig.json`], { stdio: "inherit" });
  execFileSync(`${root}node_modules/.bin/esbuild`, [...blocks.map(({ kind }, i) => `${place}block-${i}.${kind}`), `--outdir=${place}`, "--bundle", `--alias:@rejoin/client=${root}src/index.ts`, "--format=esm", "--jsx=automatic", "--target=node20", "--log-level=error"]);
});

/** What the relay of the examples says. */
function answer({ path, body, headers }: Asked, res: Parameters<typeof problem>[0]): void {
  const json = (v: unknown) => void res.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(v));
  const chat = String(body["chat_id"]);
  if (path.startsWith("/my/token")) return void res.end("good");
  if (path.includes("/history")) return json({ turns: [{ run_id: "r0", kind: "send", input: { text: "hi" }, events: [], started_at: "", ended_at: "", reason: "done" }] });
  if (path === "/chat/send" || path === "/chat/steer-send") return json({ chat_id: chat, turn_id: "t", run_id: "r2" });
  if (path === "/chat/stop") return json({ status: "stopping", run_id: "r2" });
  if (path === "/chat/answer") return problem(res, 409, "already_answered", {}, { outcome: { outcome: "selected", optionId: "deny" } });
  if (chat === "private-chat" && headers.authorization !== "Bearer good") return problem(res, 401, "unauthenticated");
  if (chat === "idle-chat" || (chat === "chat-2" && !body["run_id"]) || body["ended_run_id"]) return body["wait_ms"] ? undefined : void res.writeHead(204).end();
  stream(res).write(snapshot("r2", 1, [delta("Hello, ")]) + synced("r2", 1));
  if (chat === "chat-1") res.end(event("r2", 2, delta("world")) + end("r2", 2));
}

for (const [i, { code }] of blocks.entries()) {
  const wanted = [...code.matchAll(/console\.log\(.*\/\/ → (.*)$/gm)].map((m) => m[1]!.trim());
  test(`block ${i}: ${/connection\.\w+|new \w+|use\w+/.exec(code)?.[0] ?? ""}`, async (t) => {
    assert.ok(wanted.length > 0 || /tsx|send/.test(code), "it shows something");
    const r = await relay(t, answer);
    const kept = new Map<string, string>();
    const printed: string[] = [];
    const { log } = console;
    relayUrl = r.url;
    Object.assign(globalThis, {
      sessionStorage: { getItem: (k: string) => kept.get(k) ?? null, setItem: (k: string, v: string) => void kept.set(k, v), removeItem: (k: string) => void kept.delete(k) },
    });
    console.log = (...args: unknown[]) => { printed.push(args.map((a) => (typeof a === "string" ? a : inspect(a))).join(" ")); };
    try {
      await import(pathToFileURL(`${place}block-${i}.js`).href);
      await eventually(() => wanted.every((w) => printed.includes(w))).catch(() => {});
    } finally {
      console.log = log;
      relayUrl = "";
      Reflect.deleteProperty(globalThis, "sessionStorage");
    }
    assert.deepEqual(printed.sort(), wanted.sort());
  });
}
