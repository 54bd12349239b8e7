//go:build !linux

package relay

import (
	"net"
	"time"
)

// limitSilence is for Linux only; elsewhere a peer that vanished is noticed when
// the socket's buffer is full.
func limitSilence(net.Conn, time.Duration) error { return nil }
