// What agents say in scenarios.

export const start = (id = "m") => ({ type: "TEXT_MESSAGE_START", messageId: id, role: "assistant" });
export const end = (id = "m") => ({ type: "TEXT_MESSAGE_END", messageId: id });
export const say = (delta, id = "m") => ({ type: "TEXT_MESSAGE_CONTENT", messageId: id, delta });

/** Numbers as deltas, from one to another, and what the first n of them say. */
export const deltas = (from, to, id = "m") => Array.from({ length: to - from + 1 }, (_, i) => say(`${from + i} `, id));
export const said = (n) => deltas(1, n).map((event) => event.delta).join("");
