// Package proxy is a TCP relay that tests put between two parts, to cut, stall or
// silence the connection between them.
//
// It forwards bytes and knows no protocol. Cut ends what is open, Refuse turns new
// connections away, and Hold keeps one direction's bytes back, as a network does
// that drops packets without telling anyone.
package proxy
