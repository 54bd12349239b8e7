// What the demo can do where it is served.
import { el, find, show } from "./dom.js";
import { fields } from "./json.js";

export interface Parts {
  kill(): Promise<void>;
  tokens(): void;
}

/** The demo agent's words, in sentences that have one each. */
const suggestions: readonly (readonly [string, string])[] = [
  ["Just talk", "Hello! What survives when I close this page?"],
  ["Talk for a minute", "Give me a long answer"],
  ["Ask my approval", "A quick approval, please"],
  ["Fill in a form", "A quick form, please"],
  ["Use a slow tool", "Use your tool"],
  ["Do not stop", "Be stubborn"],
  ["Fail", "Run into an error"],
  ["Be quick", "Something quick"],
];

export async function setUp(get: (path: string) => Promise<Response>, parts: Parts): Promise<void> {
  const setup = fields(await get("/demo/setup").then((r) => r.json(), () => ({})));
  if (setup["tokens"] === true) parts.tokens();
  const kill = find<HTMLButtonElement>("kill");
  show(kill, setup["kill"] === true);
  kill.addEventListener("click", () => void parts.kill());
  if (setup["agent"] !== true) return;
  const chips = find("chips");
  for (const [label, words] of suggestions) {
    chips.append(el("button", { type: "button", class: "chip", "data-words": words, title: `Sends “${words}”` }, label));
  }
  chips.dataset["offered"] = "true";
}
