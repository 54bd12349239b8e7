// How long to stay away.

/**
 * The wait after n fruitless attempts in a row, in milliseconds: up to a ceiling that doubles with each. With jitter, because the
 * clients of a relay that died all come back at once, and should not do so in the same second; and from the second one on never nearly
 * nothing, so that five attempts are not spent in a moment.
 */
export function delay(n: number, first: number, max: number): number {
  const ceiling = Math.min(max, first * 2 ** n);
  const chance = Math.random();
  return ceiling * (n < 2 ? chance : (1 + chance) / 2);
}

/** The longest that a server may ask a client to stay away, in milliseconds. */
export const maxAsked = 60_000;
