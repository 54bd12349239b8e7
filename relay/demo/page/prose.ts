// What an agent says: as it came, with code between fences told apart. Whatever is shown has the very text, fences and all.
import { el, text } from "./dom.js";

interface Piece {
  readonly code: boolean;
  readonly text: string;
}

/** Draws text into target, where it may have grown since it was drawn last. Only what has changed is touched. */
export function prose(target: HTMLElement, value: string): void {
  const all = value.includes("```") ? pieces(value) : [];
  if (!all.some((piece) => piece.code)) {
    if (target.childElementCount > 0) target.replaceChildren();
    return text(target, value);
  }
  if (target.childElementCount === 0) target.replaceChildren();
  for (const [i, piece] of all.entries()) {
    let node = target.children[i];
    const tag = piece.code ? "code" : "span";
    if (node?.localName !== tag) {
      while (target.children.length > i) target.lastElementChild!.remove();
      node = el(tag, piece.code ? { class: "block" } : {});
      target.append(node);
    }
    text(node, piece.text);
  }
  while (target.children.length > all.length) target.lastElementChild!.remove();
}

/** A text's prose and its code, in turn. A block that is not closed yet reaches to the end. */
function pieces(value: string): Piece[] {
  const out: Piece[] = [];
  let at = 0;
  while (at < value.length) {
    const fence = /^ {0,3}```[^`\n]*$/m;
    const opens = fence.exec(value.slice(at));
    const from = opens ? at + opens.index : value.length;
    if (from > at) out.push({ code: false, text: value.slice(at, from) });
    if (!opens) break;
    const closes = /^ {0,3}``` *$\n?/m.exec(value.slice(from + opens[0].length));
    const to = closes ? from + opens[0].length + closes.index + closes[0].length : value.length;
    out.push({ code: true, text: value.slice(from, to) });
    at = to;
  }
  return out;
}
