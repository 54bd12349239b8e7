// Looking into JSON of which nothing is known.

export type Fields = Readonly<Record<string, unknown>>;

/** The object that this is, or an empty one. */
export function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

export function string(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

export function number(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** JSON as people read it; any other text as it is. */
export function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 1).replace(/\n\s*/g, " ");
  } catch {
    return text;
  }
}
