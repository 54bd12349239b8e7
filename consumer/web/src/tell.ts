// What belongs to the application may throw, and may never answer. Neither stops a connection.

/** Calls a function of the application's. What it throws is reported as an error that nobody caught. */
export function tell<A extends unknown[]>(f: ((...args: A) => void) | undefined, ...args: A): void {
  try {
    f?.(...args);
  } catch (err) {
    (globalThis.reportError ?? console.error)(err);
  }
}

/** Settles as work does, but rejects once signal is aborted. */
export const unless = <T>(signal: AbortSignal, work: Promise<T>): Promise<T> =>
  Promise.race([work, new Promise<never>((_, reject) => { signal.addEventListener("abort", reject); })]);
