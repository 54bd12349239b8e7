import assert from "node:assert/strict";
import { test } from "node:test";
import { RejoinError } from "../src/index.js";

test("an error has its code", () => {
  assert.equal(new RejoinError("network", "no answer").code, "network");
});
