// One labelled field of a form, of a property of its schema.
import { attribute, el, text } from "./dom.js";
import { fields, list, number, string, type Fields } from "./json.js";

export interface Field {
  readonly name: string;
  readonly node: HTMLElement;
  /** What was filled in, undefined for nothing. */
  value(): unknown;
  /** Whether it is right, which is said beside it where it is not. */
  check(): boolean;
  focus(): void;
}

type Input = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

/** An input for a kind of property, and what it says. */
interface Kind {
  readonly input: Input;
  read(): unknown;
}

let count = 0;

export function field(name: string, about: Fields, required: boolean): Field {
  const id = `field-${++count}`;
  const kind = kindOf(about, required);
  const { input } = kind;
  input.id = id;
  input.name = name;
  const hint = el("span", { class: "hint", id: `${id}-hint` }, hintOf(about));
  const trouble = el("span", { class: "trouble", id: `${id}-trouble` });
  attribute(input, "aria-describedby", `${id}-hint ${id}-trouble`);
  const label = el("label", { for: id }, string(about["title"]) ?? name, required ? "" : el("span", { class: "optional" }, " optional"));
  const check = input.type === "checkbox";
  const node = el("div", { class: check ? "field check" : "field" }, ...(check ? [input, label] : [label, input]), hint, trouble);
  input.addEventListener("input", () => {
    if (trouble.textContent) say(input, trouble, complaint(input));
  });
  return {
    name, node,
    value: () => kind.read(),
    check: () => say(input, trouble, complaint(input)),
    focus: () => input.focus(),
  };
}

function say(input: Input, where: HTMLElement, what: string): boolean {
  text(where, what);
  attribute(input, "aria-invalid", what ? "true" : undefined);
  return what === "";
}

/** What the browser finds wrong, "" for nothing: it knows the bounds that the input has. */
function complaint(input: Input): string {
  if (input instanceof HTMLTextAreaElement && input.value.trim() && parsed(input.value) === undefined) return "This is no JSON.";
  return input.validity.valid ? "" : input.validationMessage;
}

function kindOf(about: Fields, required: boolean): Kind {
  const choices = choicesOf(about);
  if (choices.length > 0) return choice(choices, about["default"], required);
  switch (about["type"]) {
    case "boolean": return boolean(about["default"] === true);
    case "integer":
    case "number": return numeric(about, required);
    case "object":
    case "array": return json(about, required);
    default: return words(about, required);
  }
}

interface Choice {
  readonly value: unknown;
  readonly name: string;
}

function choicesOf(about: Fields): readonly Choice[] {
  const names = list(about["enumNames"]);
  const values = list(about["enum"]).map((value, i) => ({ value, name: string(names[i]) ?? String(value) }));
  return values.length > 0 ? values : list(about["oneOf"] ?? about["anyOf"]).map(fields).filter((o) => "const" in o)
    .map((o) => ({ value: o["const"], name: string(o["title"]) ?? String(o["const"]) }));
}

function choice(choices: readonly Choice[], chosen: unknown, required: boolean): Kind {
  const input = el("select", { required }, el("option", { value: "" }, "Choose…"),
    ...choices.map((c, i) => el("option", { value: String(i), selected: c.value === chosen }, c.name)));
  return { input, read: () => (input.value === "" ? undefined : choices[Number(input.value)]?.value) };
}

function boolean(checked: boolean): Kind {
  const input = el("input", { type: "checkbox", checked }); // no is an answer too
  return { input, read: () => input.checked };
}

function numeric(about: Fields, required: boolean): Kind {
  const whole = about["type"] === "integer";
  const [min, max] = [number(about["minimum"]), number(about["maximum"])];
  const input = el("input", {
    type: "number", required, step: whole ? "1" : "any", inputmode: whole ? "numeric" : "decimal", autocomplete: "off",
    min: min === null ? undefined : String(min), max: max === null ? undefined : String(max), value: asText(about["default"]),
  });
  return { input, read: () => (input.value === "" ? undefined : input.valueAsNumber) };
}

const formats: Readonly<Record<string, string>> = { email: "email", uri: "url", date: "date", "date-time": "datetime-local" };

function words(about: Fields, required: boolean): Kind {
  const [min, max] = [number(about["minLength"]), number(about["maxLength"])];
  const input = el("input", {
    type: formats[String(about["format"])] ?? "text", required, pattern: string(about["pattern"]) ?? undefined, autocomplete: "off",
    minlength: min === null ? undefined : String(min), maxlength: max === null ? undefined : String(max), value: asText(about["default"]),
  });
  return { input, read: () => (input.value === "" ? undefined : input.value) };
}

/** What has no simple form of its own is written as JSON. */
function json(about: Fields, required: boolean): Kind {
  const input = el("textarea", { required, rows: "3", spellcheck: "false" }, about["default"] === undefined ? "" : JSON.stringify(about["default"]));
  return { input, read: () => (input.value.trim() === "" ? undefined : parsed(input.value)) };
}

function parsed(value: string): unknown {
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return undefined;
  }
}

function asText(value: unknown): string | undefined {
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}

/** The description, or the bounds in words. */
function hintOf(about: Fields): string {
  const described = string(about["description"]);
  const [min, max] = [number(about["minimum"]), number(about["maximum"])];
  if (described || (min === null && max === null)) return described ?? "";
  return min === null ? `at most ${max}` : max === null ? `at least ${min}` : `${min} to ${max}`;
}
