// The token of a relay that wants one. It is kept for this tab only, so that a reload goes on.
import { find, show } from "./dom.js";

const key = "rejoin-demo-token";

export interface Tokens {
  get(): string | null;
}

export function tokens(onChange: () => void): Tokens & { offer(): void } {
  let token = sessionStorage.getItem(key);
  const form = find<HTMLFormElement>("token");
  const input = find<HTMLInputElement>("token-value");
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    token = input.value.trim().replace(/^Bearer\s+/i, "") || null;
    if (token) sessionStorage.setItem(key, token);
    else sessionStorage.removeItem(key);
    input.value = "";
    onChange();
  });
  return {
    get: () => token,
    offer() {
      show(form, true);
      input.focus();
    },
  };
}
