// A form made of a JSON schema of simple types, as elicitations have.
import { el } from "./dom.js";
import { field, type Field } from "./field.js";
import { fields, list, type Fields } from "./json.js";

/** accept gets what was filled in, once all of it is right. decline may be null, which offers none. */
export function schemaForm(schema: Fields, accept: (content: Fields) => void, decline: (() => void) | null): HTMLElement {
  const required = new Set(list(schema["required"]));
  const all = Object.entries(fields(schema["properties"])).map(([name, about]) => field(name, fields(about), required.has(name)));
  const submit = el("button", { type: "submit", class: "button strong" }, "Submit");
  const buttons = el("div", { class: "buttons" }, submit);
  if (decline) {
    const no = el("button", { type: "button", class: "button quiet" }, "Decline");
    no.addEventListener("click", decline);
    buttons.append(no);
  }
  const form = el("form", { class: "form", novalidate: true }, ...all.map((f) => f.node), buttons);
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    const wrong = all.filter((f) => !f.check()); // all of them say what is wrong, the first has the focus
    wrong[0]?.focus();
    if (wrong.length === 0) accept(contentOf(all));
  });
  return form;
}

function contentOf(all: readonly Field[]): Fields {
  const content: Record<string, unknown> = {};
  for (const f of all) {
    const value = f.value();
    if (value !== undefined) content[f.name] = value; // what is left empty is not said
  }
  return content;
}
