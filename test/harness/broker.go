package harness

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
)

// BrokerRole is the role of a test binary that is a broker; see Roles.
const BrokerRole = "broker"

const (
	listenEnv  = "REJOIN_TEST_LISTEN"
	storeEnv   = "REJOIN_TEST_STORE"
	monitorEnv = "REJOIN_TEST_MONITOR"
)

// PlayBroker is what a process in BrokerRole does.
func PlayBroker() {
	s, err := natsd.Start(natsd.Config{Listen: os.Getenv(listenEnv), StoreDir: os.Getenv(storeEnv),
		Tune: monitorOn(os.Getenv(monitorEnv))})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("broker on", s.ClientURL())
	_, _ = io.Copy(io.Discard, os.Stdin)
	s.Shutdown()
}

// Broker is a broker in a process of its own, which can be killed.
type Broker struct {
	testing.TB
	URL     string
	Monitor *Monitor
	store   string
	listen  string
	proc    *Process
}

// NewBroker starts one on a store that the test owns.
func NewBroker(t testing.TB) *Broker {
	t.Helper()
	b := &Broker{TB: t, Monitor: &Monitor{TB: t, addr: FreeAddr(t)}, store: t.TempDir(), listen: "127.0.0.1:0"}
	b.Restart()
	return b
}

// Kill ends the broker as a crash does.
func (b *Broker) Kill() { b.proc.Kill() }

// Restart starts the broker again, on its address and its store.
func (b *Broker) Restart() {
	b.Helper()
	b.proc = Role(b, BrokerRole, listenEnv+"="+b.listen, storeEnv+"="+b.store, monitorEnv+"="+b.Monitor.addr)
	b.URL = b.proc.Line("broker on ")
	b.listen = strings.TrimPrefix(b.URL, "nats://")
	_, _, err := net.SplitHostPort(b.listen)
	require.NoError(b, err)
}
