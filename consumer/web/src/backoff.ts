// How long to wait for what, and how often to ask.

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

/** How long a request is willing to wait for a chat's next run, in milliseconds. */
export const patience = 30_000;
/** An attempt that lived this long, in milliseconds, was good though it brought nothing new: relays close streams by age, and runs are silent. */
export const steadyAfter = 30_000;
/**
 * An attempt that is as young as this, in milliseconds, is not repeated at once because the page was shown again: only when it has brought nothing
 * since by then. And a relay that waits for less than it is asked to may be asked again at once from here on.
 */
export const young = 1_000;

/** In the long run there are two first waits (a second) to an attempt, whatever is answered. How many of those waits may be made use of in advance. */
export const burst = 40;
