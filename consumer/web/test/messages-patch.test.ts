import assert from "node:assert/strict";
import { test } from "node:test";
import { patched } from "../src/patch.js";
import { apply, reduce } from "../src/messages.js";

const op = (o: string, path: string, more = {}) => ({ op: o, path, ...more });

test("JSON patches", () => {
  const cases: [unknown, unknown[], unknown][] = [
    [{ a: 1 }, [op("add", "/b", { value: 2 })], { a: 1, b: 2 }],
    [{ a: [1, 3] }, [op("add", "/a/1", { value: 2 }), op("add", "/a/-", { value: 4 })], { a: [1, 2, 3, 4] }],
    [{ a: [1, 2] }, [op("remove", "/a/0")], { a: [2] }],
    [{ a: { b: 1 } }, [op("replace", "/a/b", { value: null })], { a: { b: null } }],
    [{ "a/b": 1, "m~n": 2, "": 3 }, [op("replace", "/a~1b", { value: 4 }), op("remove", "/m~0n"), op("remove", "/")], { "a/b": 4 }],
    [{ "~1": 1 }, [op("replace", "/~01", { value: 2 })], { "~1": 2 }],
    [{ a: { b: 1 } }, [op("move", "/c", { from: "/a/b" })], { a: {}, c: 1 }],
    [{ a: [1, 2, 3] }, [op("move", "/a/0", { from: "/a/2" })], { a: [3, 1, 2] }],
    [{ a: { b: 1 } }, [op("copy", "/c", { from: "/a" }), op("add", "/a/d", { value: 2 })], { a: { b: 1, d: 2 }, c: { b: 1 } }],
    [{ a: { b: [1, { c: 2 }] } }, [op("test", "/a", { value: { b: [1, { c: 2 }] } }), op("add", "/ok", { value: true })], { a: { b: [1, { c: 2 }] }, ok: true }],
    [{ a: 1 }, [op("replace", "", { value: [1] })], [1]],
    [{}, [op("add", "/__proto__", { value: { polluted: 1 } }), op("add", "/x", { value: 1 })], JSON.parse('{"__proto__":{"polluted":1},"x":1}')],
  ];
  for (const [doc, operations, want] of cases) {
    const before = structuredClone(doc);
    assert.deepEqual(patched(doc, operations), want, JSON.stringify(operations));
    assert.deepEqual(doc, before, "what was given stays as it was");
  }
  assert.equal(({} as Record<string, unknown>)["polluted"], undefined);
});

test("CMP-02 a patch that fails changes nothing at all, live and replayed", () => {
  const doc = { a: [1], b: {} };
  for (const bad of [op("remove", "/x"), op("replace", "/x", { value: 1 }), op("add", "/x/y", { value: 1 }), op("add", "/a/3", { value: 1 }), op("add", "/a/01", { value: 1 }), op("remove", "/a/-"),
    op("test", "/a", { value: [2] }), op("move", "/b/c", { from: "/b" }), op("copy", "/c", { from: "/nothing" }), op("copy", "/c"), op("invented", "/a"), { op: "add", value: 1 }, op("add", "a", { value: 1 }),
    op("add", "/toString/x", { value: 1 }), null, 7, op("add", "/" + "a/".repeat(101), { value: 1 })]) {
    assert.equal(patched(doc, [op("add", "/ok", { value: 1 }), bad]), doc, JSON.stringify(bad));
  }
  for (const none of [null, undefined, {}, "x"]) assert.equal(patched(doc, none), doc);
  const events = [{ type: "STATE_DELTA", delta: [op("add", "/n", { value: 1 })] }, { type: "STATE_DELTA", delta: [op("remove", "/m")] }, { type: "STATE_DELTA", delta: [op("add", "/k", { value: 2 })] }];
  assert.deepEqual(reduce(events).state, { n: 1, k: 2 });
  assert.deepEqual(events.reduce(apply, reduce([])).state, { n: 1, k: 2 });
});

test("copies that double a state are bounded", () => {
  let state: unknown = { a: "x".repeat(1 << 16) };
  const doubling = Array.from({ length: 40 }, (_, i) => op("copy", `/${i}`, { from: "" }));
  assert.equal(patched(state, doubling), state);
});
