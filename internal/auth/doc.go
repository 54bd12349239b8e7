// Package auth says who calls: it turns a credential into an identity, and mints the
// credential with which somebody comes back to a run.
//
//	identity.go  Identity, Grant, Authenticator, and None for everybody
//	roles.go     what somebody may do at all
//	access.go    what an identity may do to whose runs, and the identity in a context
//	jwt.go       JWT: which tokens are accepted, and whether they would be still
//	parse.go     size, form, signature and standard claims of any token
//	claims.go    an identity from the claims
//	resume.go    Resume: minting and verifying resume tokens
//	sign.go      making tokens
//	key.go       a key, bound to the one algorithm it is good for
//	jwk.go       keys as JWK and JWK sets
//	keyfile.go   telling the forms of a key file apart; PEM and secrets
//	keyset.go    the keys of one document
//	source.go    a document from a file or a URL
//	keyring.go   the newest good set of keys, kept fresh
//	errors.go    the sentinels
//
// # What is accepted
//
// EdDSA, ES256, RS256 and HS256, and for each key only the algorithm of its own kind: a
// public key's bytes never serve as a secret. Keys come from the configuration alone;
// what a token's header brings along or points to is not looked at. Where the keys have
// names (a JWK set), a token must name its key. A resume token is never accepted as
// another credential, nor the other way round, whatever the keys are.
//
// JWKs are parsed here, with the standard library's own checks of each kind of key: the
// libraries for it bring private keys of every kind, encryption, certificate chains and
// fetching along, of which a relay wants none.
//
// # Ordering and blocking
//
// Keys are swapped as a whole: a token is judged by one set. Only Run fetches, one
// attempt at a time; the last good set stays in use while attempts fail. Authenticate
// reads the set without a lock, and waits, no longer than 5 s or its context, only where
// no set was fetched yet or where a token names an unknown key, whose name may be new;
// that costs at most one attempt in MinRefresh, however many such tokens come. Verify and
// Valid never block. Run is the only goroutine, the caller's own.
package auth
