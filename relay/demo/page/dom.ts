// The few ways in which this page touches the DOM. Text is only ever text.

type Attributes = Readonly<Record<string, string | boolean | undefined>>;

/** A new element. An attribute that is true is empty, one that is false or undefined is not there. */
export function el<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: (Node | string)[]): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) attribute(node, name, value);
  node.append(...children);
  return node;
}

/** Sets or removes an attribute, if that changes it: what watches the DOM is told of no change that is none. */
export function attribute(node: Element, name: string, value: string | boolean | undefined): void {
  const text = value === true ? "" : value === false ? undefined : value;
  if (text === undefined) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else if (node.getAttribute(name) !== text) {
    node.setAttribute(name, text);
  }
}

/** Makes an element's text this one. What grows at its end is appended, which is what an answer does all the time. */
export function text(node: Element, value: string): void {
  const only = node.firstChild;
  if (only instanceof Text && only === node.lastChild) {
    if (only.data === value) return;
    if (only.data !== "" && value.startsWith(only.data)) only.appendData(value.slice(only.data.length));
    else only.data = value;
  } else {
    node.textContent = value;
  }
}

export function show(node: HTMLElement, visible: boolean): void {
  if (node.hidden === visible) node.hidden = !visible;
}

/** The element that index.html has for this. */
export function find<T extends HTMLElement = HTMLElement>(id: string): T {
  const node = document.getElementById(id);
  if (!node) throw new Error(`index.html has no #${id}`);
  return node as T;
}

/** A function that has draw called once in the next frame, however often it is called before that. */
export function everyFrame(draw: () => void): () => void {
  let due = false;
  return () => {
    if (due) return;
    due = true;
    const now = () => {
      if (!due) return;
      due = false;
      cancelAnimationFrame(frame);
      clearTimeout(late);
      draw();
    };
    const frame = requestAnimationFrame(now);
    const late = setTimeout(now, 250); // a hidden tab has no frames, and its title and list go on
  };
}
