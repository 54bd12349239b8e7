// Where a person writes: Enter sends, Shift+Enter begins a new line, Escape stops.
import { attribute, find, show, text } from "./dom.js";

export interface Composer {
  /** busy: a run is under way; killed: its producer is known to be dead; away: it cannot be seen how far it is. */
  draw(busy: boolean, killed: boolean, away: boolean): void;
  /** Gives back what could not be sent, unless something else has been written. */
  restore(words: string): void;
  focus(): void;
}

export function composer(send: (words: string) => void, stop: () => void): Composer {
  const form = find<HTMLFormElement>("compose");
  const field = find<HTMLTextAreaElement>("composer");
  const button = find<HTMLButtonElement>("send");
  const halt = find<HTMLButtonElement>("stop");
  const hint = find("busy-hint");
  const chips = find("chips");
  let offered = false;
  const submit = () => {
    const words = field.value.trim();
    if (!words) return;
    field.value = "";
    send(words);
  };
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    submit();
    field.focus();
  });
  field.addEventListener("keydown", (e) => {
    if (e.key !== "Enter" || e.shiftKey || e.isComposing) return;
    e.preventDefault();
    submit();
  });
  halt.addEventListener("click", () => {
    stop();
    field.focus();
  });
  chips.addEventListener("click", (e) => {
    const words = e.target instanceof Element ? e.target.closest("button")?.dataset["words"] : undefined;
    if (!words) return;
    send(words);
    field.focus();
  });
  return {
    draw(busy, killed, away) {
      offered ||= chips.dataset["offered"] === "true";
      show(halt, busy);
      show(chips, offered && !busy);
      show(hint, busy || !offered);
      text(hint, !busy ? "" : killed ? "Its producer is dead. What you send now waits until the run has its end." : away ? "It goes on answering. What it says meanwhile is shown once the relay can be reached." : "It is answering. What you send now reaches it in mid-answer.");
      text(button.querySelector("span")!, busy && !killed ? "Steer" : busy ? "Queue" : "Send");
      attribute(field, "placeholder", busy && !killed ? "Say something" : "Write a message");
    },
    restore(words) {
      if (!field.value) field.value = words;
    },
    focus: () => field.focus(),
  };
}
