// The frames of protocol 1: what a relay says of a run.
import type { Event } from "./types.js";

interface Of<T extends string> { readonly type: T; readonly run_id: string; readonly seq: number }
export type SnapshotFrame = Of<"STREAM_SNAPSHOT"> & { readonly events: Event[] };
export type EventFrame = Of<"STREAM_EVENT"> & { readonly event: Event };
export type EndFrame = Of<"STREAM_END"> & { readonly persisted: boolean; readonly superseded: boolean; readonly reason: string; readonly next_run_id?: string | null };
export type Frame = SnapshotFrame | EventFrame | EndFrame | Of<"STREAM_SYNCED">;

/** What is not as the contract says. The stream it came with is of no use. */
export class Malformed extends Error {}

const isObject = (v: unknown): boolean => typeof v === "object" && !!v && !Array.isArray(v);

/** What each member of a frame of this type has to be. */
const sound: Readonly<Record<string, ((f: Record<string, unknown>) => boolean) | null>> = {
  __proto__: null,
  STREAM_SNAPSHOT: (f) => Array.isArray(f["events"]) && f["events"].every(isObject),
  STREAM_EVENT: (f) => isObject(f["event"]),
  STREAM_SYNCED: () => true,
  STREAM_END: (f) => [f["persisted"], f["superseded"], f["reason"], f["next_run_id"] ?? ""].map((v) => typeof v).join() === "boolean,boolean,string,string",
};

/** The frame that a message's data holds; null for a type that is not known, which is passed over. Throws Malformed. */
export function parseFrame(data: string): Frame | null {
  let f = {} as Record<string, unknown>;
  try {
    f = JSON.parse(data) as Record<string, unknown>;
  } catch { /* what is no JSON has no type either */ }
  if (!isObject(f) || typeof f["type"] !== "string") throw new Malformed();
  const check = sound[f["type"]];
  if (!check) return null;
  if (!f["run_id"] || typeof f["run_id"] !== "string" || !Number.isSafeInteger(f["seq"]) || (f["seq"] as number) < 0 || !check(f)) throw new Malformed();
  return f as unknown as Frame;
}
