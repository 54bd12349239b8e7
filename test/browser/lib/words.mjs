// What agents say in scenarios.

export const start = (id = "m") => ({ type: "TEXT_MESSAGE_START", messageId: id, role: "assistant" });
export const end = (id = "m") => ({ type: "TEXT_MESSAGE_END", messageId: id });
export const say = (delta, id = "m") => ({ type: "TEXT_MESSAGE_CONTENT", messageId: id, delta });

/** Numbers as deltas, from one to another, and what the first n of them say. Messages but "m" say their own name with each, so that no two say the same. */
const word = (i, id) => `${id === "m" ? "" : `${id}.`}${i} `;
export const deltas = (from, to, id = "m") => Array.from({ length: to - from + 1 }, (_, i) => say(word(from + i, id), id));
export const said = (n, id = "m") => deltas(1, n, id).map((event) => event.delta).join("");
