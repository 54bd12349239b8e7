//go:build !unix

package limits_test

import (
	"net"

	"github.com/rejoin/rejoin/test/harness"
)

// narrow is a connection like any other where nothing can be said about it.
var narrow = net.Dialer{Timeout: harness.Patience}
