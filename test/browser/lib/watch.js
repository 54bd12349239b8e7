// Put into a page before its own scripts: writes down every moment in which a message is shown twice, or a text holds itself twice.
(() => {
  const twice = window.__twice = [];
  const note = (what) => { if (twice.length < 20) twice.push(what); };
  const look = () => {
    const ids = new Set();
    const texts = new Set();
    for (const message of document.querySelectorAll("[data-testid=messages] [data-kind][data-id]")) {
      const { id, kind } = message.dataset;
      if (ids.has(id)) note(`two elements of ${id}`);
      ids.add(id);
      if (kind !== "assistant") continue; // people may say a thing twice, and the demo thinks the same each time
      const text = message.querySelector("[data-testid=text]")?.textContent ?? "";
      if (text.length < 24) continue;
      if (texts.has(text)) note(`two messages say ${text.slice(0, 80)}`);
      texts.add(text);
      // An answer whose beginning comes again: a replay that was added to what was there.
      if (text.indexOf(text.slice(0, 24), 1) > 0) note(`${id} begins again: ${text.slice(0, 200)}`);
    }
  };
  // A mutation is looked at as soon as what made it is done, which is earlier than it is painted.
  new MutationObserver(look).observe(document, { childList: true, subtree: true, characterData: true, attributes: true, attributeFilter: ["data-id"] });
})();
