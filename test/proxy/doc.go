// Package proxy is a TCP relay that tests put between two parts, to cut, stall or
// silence the connection between them.
//
// It forwards bytes and knows no protocol. Cut ends what is open, CutAfter the next
// connection at a byte of its way back, Refuse turns new connections away. Hold keeps
// one direction's bytes back, and Silence loses what is open as a network does that
// drops packets without telling anyone.
package proxy
