// Package layering holds tests of the house rules that a compiler does not
// keep: who may import whom, that every package says what it owns, and that
// the product does not carry the testing package.
//
//   - rules_test.go     the table; a new package needs a row
//   - module_test.go    reading the module's packages from its files
//   - layering_test.go  the claims, and a proof that each can fail
//
// The packages are read by this process and not by `go list`, so that the go
// command knows what the result depends on and does not serve a stale one.
package layering
