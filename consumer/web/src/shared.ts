// Connections are scarce over HTTP/1.1: a browser has six to a host, for all its tabs. So only a few tabs have a stream of
// their own for sure, and the others may have to share one.
import type { Requests } from "./requests.js";
import type { Outcome, Source } from "./stream.js";

/** How many tabs have a stream of their own. With the shared one that leaves two connections for all that is sent, and for pages. */
const own = 3;

/** A source that shares a stream where it has to, and is `direct` elsewhere: over HTTP/2, and where tabs cannot agree. */
export function shared(requests: Requests, direct: Source): Source {
  const { tabs = true, url = "" } = requests.options;
  const locks = globalThis.navigator?.locks;
  if (!tabs || !locks || !globalThis.location) return direct;
  const { origin } = new URL(url, location.href);
  return (ask, ear, signal) => {
    const seat = async (n: number): Promise<Outcome> =>
      n < own
        ? locks.request(`rejoin:${origin}:${n}`, { ifAvailable: true }, (lock) => (lock ? direct(ask, ear, signal) : seat(n + 1)))
        : (await import("./crowd.js")).together(origin, requests, direct)(ask, ear, signal); // loaded by the few who need it
    return seat(0).catch(() => direct(ask, ear, signal)); // a page that is put away gets no lock, and an old page may find no crowd.js
  };
}
