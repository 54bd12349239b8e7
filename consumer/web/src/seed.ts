// What was received, kept where a reload finds it: shown at once, and replaced by what the relay says.
import type { Event, Options } from "./types.js";

export interface Seed {
  readonly runId: string;
  readonly seq: number;
  readonly events: readonly Event[];
}

/** A longer text is not kept: storages hold some 5 MiB, of everything. */
const maxSeed = 1 << 20;

const key = (options: Options, chatId: string) => `rejoin:${options.url ?? ""}:${chatId}`;

export function load(options: Options, chatId: string): Seed | null {
  try {
    const s = JSON.parse(options.seed!.getItem(key(options, chatId))!) as Seed;
    return typeof s.runId === "string" && s.seq > 0 && Array.isArray(s.events) ? s : null;
  } catch {
    return null; // there is none, or somebody else's, or the storage is closed to us
  }
}

/** Keeps a seed; null forgets it. */
export function save(options: Options, chatId: string, seed: Seed | null): void {
  try {
    const text = JSON.stringify(seed);
    if (seed && text.length <= maxSeed) options.seed?.setItem(key(options, chatId), text);
    else options.seed?.removeItem(key(options, chatId));
  } catch { /* full or closed: a reload then asks for all of it */ }
}
