// The list of chats on a narrow page, and the wire: what opens and closes beside the conversation.
import { attribute, find, show } from "./dom.js";

export interface Panels {
  readonly wireIsOpen: () => boolean;
  closeMenu(): void;
}

/** onWire is called when the wire was opened or closed. */
export function panels(onWire: () => void): Panels {
  const app = find("app");
  const menu = find<HTMLButtonElement>("menu");
  const toggle = find<HTMLButtonElement>("wire-toggle");
  const wire = find("wire-panel");
  const setMenu = (open: boolean) => {
    attribute(app, "data-menu", open);
    attribute(menu, "aria-expanded", String(open));
  };
  const setWire = (open: boolean) => {
    show(wire, open);
    attribute(app, "data-wire", open);
    attribute(toggle, "aria-expanded", String(open));
    onWire();
  };
  menu.addEventListener("click", () => {
    const open = menu.getAttribute("aria-expanded") !== "true";
    setMenu(open);
    if (open) find("new-chat").focus();
  });
  find("shade").addEventListener("click", () => setMenu(false));
  toggle.addEventListener("click", () => setWire(wire.hidden !== false));
  find("wire-close").addEventListener("click", () => {
    setWire(false);
    toggle.focus();
  });
  document.addEventListener("keydown", (e) => {
    if (e.key !== "Escape" || e.defaultPrevented) return;
    if (menu.getAttribute("aria-expanded") === "true") {
      setMenu(false);
      menu.focus();
      e.preventDefault();
    } else if (!wire.hidden && wire.contains(document.activeElement)) {
      setWire(false);
      toggle.focus();
      e.preventDefault();
    }
  });
  return { wireIsOpen: () => !wire.hidden, closeMenu: () => setMenu(false) };
}
