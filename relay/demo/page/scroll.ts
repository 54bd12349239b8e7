// The conversation stays at its end while the reader is there, and where it is while the reader is elsewhere.
import { find, show } from "./dom.js";

export interface Scroller {
  toEnd(): void;
}

const near = 60; // pixels that still count as the end

export function scroller(): Scroller {
  const area = find("scroll");
  const down = find<HTMLButtonElement>("down");
  const hero = find("hero");
  let following = true;
  let top = 0;
  const follow = (yes: boolean) => {
    following = yes;
    show(down, !yes);
  };
  const toEnd = () => {
    area.scrollTop = area.scrollHeight;
    follow(true);
  };
  area.addEventListener("scroll", () => {
    const up = area.scrollTop < top; // only a reader does that; what grows below moves nothing
    top = area.scrollTop;
    if (area.scrollHeight - top - area.clientHeight < near) follow(true);
    else if (up) follow(false);
  }, { passive: true });
  down.addEventListener("click", () => {
    toEnd();
    area.focus();
  });
  const grows = new ResizeObserver(() => {
    if (following) area.scrollTop = hero.hidden ? area.scrollHeight : 0; // what a page says first is read from its beginning
  });
  grows.observe(area); // a keyboard, a panel, a turned phone
  for (const child of area.children) grows.observe(child);
  return { toEnd };
}
