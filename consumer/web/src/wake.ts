// When a page is shown again, thawed, taken out of the back/forward cache, or has its network back.

/** Calls wake and sleep until the function returned is called. Where there is no page, never. */
export function watchPage(wake: () => void, sleep: () => void): () => void {
  if (typeof document === "undefined") return () => {};
  const shown = () => { if (!document.hidden) wake(); };
  const all: [EventTarget, string, () => void][] = [
    [document, "visibilitychange", shown],
    [document, "resume", shown], // thawed
    [window, "pageshow", wake], // also without `persisted`: some browsers do not say
    [window, "online", wake],
    [window, "pagehide", sleep], // an open connection would keep the page out of the back/forward cache
  ];
  for (const [target, name, f] of all) target.addEventListener(name, f);
  return () => { for (const [target, name, f] of all) target.removeEventListener(name, f); };
}
