// What the demo can do where it is served.
import { el, find, show } from "./dom.js";
import { fields } from "./json.js";

export interface Setup {
  /** Every request needs a token. */
  readonly tokens: boolean;
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

/** Offers what there is. Where that cannot be asked for, there is nothing but the chat. */
export async function setUp(get: (path: string) => Promise<Response>, onKill: () => Promise<void>): Promise<Setup> {
  const setup = fields(await get("/demo/setup").then((r) => r.json()).catch(() => null));
  const kill = find<HTMLButtonElement>("kill");
  show(kill, setup["kill"] === true);
  kill.addEventListener("click", () => void onKill());
  if (setup["agent"] === true) suggest();
  return { tokens: setup["tokens"] === true };
}

function suggest(): void {
  const chips = find("chips");
  for (const [label, words] of suggestions) {
    chips.append(el("button", { type: "button", class: "chip", "data-words": words, title: `Sends “${words}”` }, label));
  }
  chips.dataset["offered"] = "true";
}
