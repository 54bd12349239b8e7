// When a page is shown again, thawed, taken out of the back/forward cache, or has its network back.

/** Calls wake and sleep until the function returned is called. Where there is no page, never. */
export function watchPage(wake: () => void, sleep: () => void): () => void {
  if (typeof document === "undefined") return () => {};
  const shown = () => { if (!document.hidden) wake(); };
  const all = new AbortController();
  const on = (target: EventTarget, name: string, f: () => void) => target.addEventListener(name, f, all);
  on(document, "visibilitychange", shown);
  on(document, "freeze", sleep); // what is open now brings nothing any more, not even its end, once the page is thawed
  on(document, "resume", wake); // thawed
  on(window, "pageshow", wake); // also without `persisted`: some browsers do not say
  on(window, "online", wake);
  on(window, "pagehide", sleep); // an open connection would keep the page out of the back/forward cache
  return () => all.abort();
}
