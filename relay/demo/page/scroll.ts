// The conversation stays at its end while the reader is there, and where it is while the reader is elsewhere.
import { find, show } from "./dom.js";

export interface Scroller {
  toEnd(): void;
}

const near = 60; // pixels that still count as the end
const asked = 1000; // how long a scroll that was asked for may take, in milliseconds

export function scroller(): Scroller {
  const area = find("scroll");
  const down = find<HTMLButtonElement>("down");
  const hero = find("hero");
  let following = true;
  let top = 0;
  let held = false; // the scroll bar, or a finger
  let upwards = -Infinity; // when the reader last asked to go up
  const follow = (yes: boolean) => {
    following = yes;
    show(down, !yes);
  };
  const toEnd = () => {
    area.scrollTop = area.scrollHeight;
    follow(true);
  };
  area.addEventListener("scroll", () => {
    // What is laid out anew moves it up, too: only who asked for it leaves the end.
    const up = area.scrollTop < top && (held || performance.now() - upwards < asked);
    top = area.scrollTop;
    if (area.scrollHeight - top - area.clientHeight < near) follow(true);
    else if (up) follow(false);
  }, { passive: true });
  area.addEventListener("wheel", (e) => { if (e.deltaY < 0) upwards = performance.now(); }, { passive: true });
  area.addEventListener("keydown", (e) => { if (["ArrowUp", "PageUp", "Home"].includes(e.key) || (e.key === " " && e.shiftKey)) upwards = performance.now(); });
  area.addEventListener("pointerdown", (e) => { held = e.target === area || e.pointerType === "touch"; }, { passive: true });
  for (const name of ["pointerup", "pointercancel"]) addEventListener(name, (e) => {
    if (held && (e as PointerEvent).pointerType === "touch") upwards = performance.now(); // a flick goes on
    held = false;
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
