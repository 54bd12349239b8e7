// JSON patches (RFC 6902), as STATE_DELTA and ACTIVITY_DELTA carry them. Pure: what is given stays as it is, what lies on
// the way to a change is copied, and the rest is shared.

/** How deep a pointer may reach, and what an own copy may cost: as the fabric bounds them. */
const maxSteps = 100;
const maxCopied = 16 << 20;

/** Says that a patch does not fit. */
const unfit = Symbol();

const isArray = (v: unknown): v is readonly unknown[] => Array.isArray(v);

export function isObject(v: unknown): v is Readonly<Record<string, unknown>> {
  return typeof v === "object" && v !== null && !isArray(v);
}

/** The document after all operations. One that fails leaves the document as it was, all of it: the same value. */
export function patched(doc: unknown, operations: unknown): unknown {
  if (!isArray(operations)) return doc;
  const room = { left: maxCopied };
  let out = doc;
  for (const op of operations) {
    out = isObject(op) ? operate(out, op, room) : unfit;
    if (out === unfit) return doc;
  }
  return out;
}

function operate(doc: unknown, op: Readonly<Record<string, unknown>>, room: { left: number }): unknown {
  const path = steps(op["path"]);
  if (!path) return unfit;
  const value = op["value"] === undefined ? null : op["value"];
  switch (op["op"]) {
    case "add": return add(doc, path, value);
    case "remove": return remove(doc, path);
    case "replace": return lookup(doc, path) === unfit ? unfit : put(doc, path, value);
    case "test": return equal(lookup(doc, path), value) ? doc : unfit;
  }
  const from = steps(op["from"]);
  const taken = from ? lookup(doc, from) : unfit;
  if (!from || taken === unfit) return unfit;
  switch (op["op"]) {
    case "copy": {
      room.left -= size(taken);
      return room.left < 0 ? unfit : add(doc, path, taken);
    }
    case "move": {
      if (op["from"] === op["path"]) return doc;
      const without = remove(doc, from);
      return without === unfit ? unfit : add(without, path, taken);
    }
  }
  return unfit;
}

/** The parts of a JSON pointer. */
function steps(pointer: unknown): string[] | null {
  if (pointer === "") return [];
  if (typeof pointer !== "string" || !pointer.startsWith("/")) return null;
  const parts = pointer.slice(1).split("/");
  return parts.length > maxSteps ? null : parts.map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function child(holder: unknown, step: string): unknown {
  if (isArray(holder)) return index(step, holder.length) < 0 ? unfit : holder[Number(step)];
  return isObject(holder) && Object.hasOwn(holder, step) ? holder[step] : unfit;
}

/** Which of an array's n elements a step means, -1 for none. */
function index(step: string, n: number): number {
  return /^(0|[1-9]\d{0,9})$/.test(step) && Number(step) < n ? Number(step) : -1;
}

function lookup(doc: unknown, path: readonly string[]): unknown {
  for (const step of path) if ((doc = child(doc, step)) === unfit) break;
  return doc;
}

/** A copy of doc in which what holds the last step is what `change` makes of it. */
function within(doc: unknown, path: readonly string[], change: (holder: unknown, step: string) => unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return unfit;
  if (rest.length === 0) return change(doc, step);
  const inner = child(doc, step);
  if (inner === unfit) return unfit;
  const made = within(inner, rest, change);
  return made === unfit ? unfit : set(doc, step, made);
}

function set(holder: unknown, step: string, value: unknown): unknown {
  if (isArray(holder)) return index(step, holder.length) < 0 ? unfit : holder.with(Number(step), value);
  if (!isObject(holder)) return unfit;
  // A key named __proto__ is a key like any other.
  return Object.defineProperty({ ...holder }, step, { value, writable: true, enumerable: true, configurable: true });
}

function put(doc: unknown, path: readonly string[], value: unknown): unknown {
  return path.length === 0 ? value : within(doc, path, (holder, step) => set(holder, step, value));
}

function add(doc: unknown, path: readonly string[], value: unknown): unknown {
  if (path.length === 0) return value;
  return within(doc, path, (holder, step) => {
    if (!isArray(holder)) return set(holder, step, value);
    const at = step === "-" ? holder.length : index(step, holder.length + 1);
    return at < 0 ? unfit : holder.toSpliced(at, 0, value);
  });
}

function remove(doc: unknown, path: readonly string[]): unknown {
  if (path.length === 0) return null;
  return within(doc, path, (holder, step) => {
    if (child(holder, step) === unfit) return unfit;
    if (isArray(holder)) return holder.toSpliced(Number(step), 1);
    const { [step]: _, ...rest } = holder as Record<string, unknown>;
    return rest;
  });
}

/** Whether two JSON values say the same. */
export function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isArray(a)) return isArray(b) && a.length === b.length && a.every((v, i) => equal(v, b[i]));
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && equal(a[key], b[key]));
}

/** About how many characters a value takes. */
function size(value: unknown): number {
  return typeof value === "object" && value !== null ? JSON.stringify(value).length : String(value).length;
}
