// The conversation stays at its end while the reader is there, and where it is while the reader is elsewhere.
import { find, show } from "./dom.js";

export interface Scroller {
  /** Goes to the end again after the DOM has changed, where the reader was there. */
  after(): void;
  toEnd(): void;
}

const near = 60; // pixels that still count as the end

export function scroller(): Scroller {
  const area = find("scroll");
  const down = find<HTMLButtonElement>("down");
  let following = true;
  const atEnd = () => area.scrollHeight - area.scrollTop - area.clientHeight < near;
  const follow = (yes: boolean) => {
    following = yes;
    show(down, !yes);
  };
  area.addEventListener("scroll", () => follow(atEnd()), { passive: true });
  const toEnd = () => {
    area.scrollTop = area.scrollHeight;
    follow(true);
  };
  down.addEventListener("click", () => {
    toEnd();
    area.focus();
  });
  new ResizeObserver(() => { if (following) toEnd(); }).observe(area); // a keyboard, a panel, a turned phone
  return {
    after: () => { if (following) area.scrollTop = area.scrollHeight; },
    toEnd,
  };
}
