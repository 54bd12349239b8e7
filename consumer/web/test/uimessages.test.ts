import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { readUIMessageStream } from "ai";
import type { UIMessage, UIMessageChunk } from "ai";
import type { End, Event } from "../src/index.js";
import { mapper } from "../src/uimessages.js";
import type { Chunk } from "../src/uimessages.js";

interface Vector {
  readonly name: string;
  readonly message_id: string;
  readonly events: readonly Event[];
  readonly end?: { persisted: boolean; superseded: boolean; reason: string; next_run_id?: string };
  readonly chunks: readonly Chunk[];
}

const folder = vectorFolder();
const vectors = readdirSync(folder).map((name) => JSON.parse(readFileSync(new URL(name, folder), "utf8")) as Vector);

/** The test is run from build/test, or wherever else its sources were built to. */
function vectorFolder(): URL {
  return new URL("../testdata/uimessages/", `file://${process.cwd()}/`);
}

function play({ message_id: id, end }: Vector, events: readonly Event[]): Chunk[] {
  const chunks: Chunk[] = [];
  const it = mapper(id, (chunk) => void chunks.push(chunk));
  for (const event of events) it.event(event);
  if (end) {
    const { next_run_id: next, ...rest } = end;
    it.end({ ...rest, ...(next !== undefined && { nextRunId: next }) } satisfies End);
  }
  return chunks;
}

/** The message that a client makes of chunks, and the error that it is told. */
async function message(chunks: readonly Chunk[]): Promise<{ message: UIMessage | undefined; error: unknown }> {
  let error: unknown;
  let last: UIMessage | undefined;
  const stream = new ReadableStream<UIMessageChunk>({
    start(out) {
      for (const chunk of chunks) out.enqueue(chunk as UIMessageChunk);
      out.close();
    },
  });
  for await (const now of readUIMessageStream({ stream, onError: (err) => { error = err; } })) last = now;
  return { message: last, error };
}

test("there are vectors", () => assert.ok(vectors.length >= 10));

for (const vector of vectors) {
  test(`vector ${vector.name}`, () => {
    assert.deepEqual(play(vector, vector.events), vector.chunks);
  });

  test(`vector ${vector.name}: folded events make the same message, and a client takes it`, async () => {
    const whole = await message(vector.chunks);
    const folded = await message(play(vector, fold(vector.events)));
    assert.deepEqual(folded.message, whole.message);
    assert.equal(String(folded.error), String(whole.error));
    const said = vector.chunks.find(({ type }) => type === "error");
    if (said) assert.match(String(whole.error), new RegExp(String(said["errorText"])));
    else assert.equal(whole.error, undefined);
  });
}

test("a message that is told no further is closed", () => {
  const chunks: Chunk[] = [];
  const it = mapper("m", (chunk) => void chunks.push(chunk));
  it.event({ type: "TEXT_MESSAGE_CHUNK", messageId: "t", delta: "x" });
  it.close();
  assert.deepEqual(chunks.at(-1), { type: "text-end", id: "t" });
});

/** Neighbouring deltas of one message joined, as in a snapshot. */
function fold(events: readonly Event[]): Event[] {
  const out: Event[] = [];
  for (const event of events) {
    const before = out.at(-1);
    const id = event["messageId"] ?? event["toolCallId"];
    const same = before?.type === event.type && (before["messageId"] ?? before["toolCallId"]) === id;
    if (before && same && /_(CONTENT|ARGS)$/.test(event.type) && typeof event["delta"] === "string" && typeof before["delta"] === "string") {
      out[out.length - 1] = { ...before, delta: before["delta"] + event["delta"] };
    } else {
      out.push(event);
    }
  }
  return out;
}
