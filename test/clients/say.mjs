// What the scripts of this folder have in common: they say things on stdout, a word and JSON on a line, and
// are told what to do on stdin, a line each. They end when stdin does.
import { createInterface } from "node:readline";

const write = process.stdout.write.bind(process.stdout);
export const say = (word, value) => void write(`${word} ${JSON.stringify(value ?? null)}\n`);

// Clients log what they drop; that is for whoever reads a failed test.
for (const level of ["log", "info", "warn", "error", "debug"]) console[level] = (...words) => void process.stderr.write(words.map(String).join(" ") + "\n");

const waiting = [];
const lines = [];
let over = false;
createInterface({ input: process.stdin })
  .on("line", (line) => (waiting.length ? waiting.shift()(line) : lines.push(line)))
  .on("close", () => {
    over = true;
    for (const give of waiting) give(undefined);
  });

/** The next line that the test tells, undefined at the end. */
export const told = () => (lines.length ? Promise.resolve(lines.shift()) : over ? Promise.resolve(undefined) : new Promise((give) => waiting.push(give)));

/** A few turns of the event loop, in which everything that is ready gets its turn. */
export async function settle() {
  for (let i = 0; i < 20; i++) await new Promise((next) => setTimeout(next));
}
