// Who may share a stream, and who does not have to.
import type { Options, Token } from "./types.js";

/** Whether the host is known to be spoken to over HTTP/2 or later, where one connection is enough for everything. */
export function plentiful(origin: string): boolean {
  const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")] as PerformanceResourceTiming[];
  return all.some((e) => /^h[23]/.test(e.nextHopProtocol) && e.name.startsWith(`${origin}/`));
}

/** What a token says of itself, and not of its user. */
const ofTheToken = new Set(["exp", "iat", "nbf", "jti"]);

/**
 * Whose requests these are, as far as that can be told: tabs of different users share nothing, nor do those of one user in two tenants. Which
 * claim names the tenant is the relay's business, so all have to be the same.
 */
export function who({ headers }: Options, token: Token): string {
  let claims: unknown = token ?? "";
  try {
    const all = JSON.parse(atob(token!.split(".")[1]!.replace(/-/g, "+").replace(/_/g, "/"))) as Record<string, unknown>;
    if (all["sub"]) claims = Object.entries(all).filter(([claim]) => !ofTheToken.has(claim));
  } catch { /* no JSON Web Token: only the same one is the same user's */ }
  return JSON.stringify([claims, headers]);
}
