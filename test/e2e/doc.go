// Package e2e holds the tests that need a whole fabric: a producer, a broker,
// relays, and observers over real HTTP. Those named after an id settle a fault that
// users of other systems met in the field.
//
//	exact_test.go    every reader ends with exactly what was published
package e2e
