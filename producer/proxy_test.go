package producer_test

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/producer"
)

// proxy stands between a client and a broker that listens, and can lose what the broker
// answers.
type proxy struct {
	ln     net.Listener
	target string
	wg     sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	deaf  bool // what the broker sends is dropped
}

func newProxy(t testing.TB, s *natsd.Server) *proxy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{ln: ln, target: strings.TrimPrefix(s.ClientURL(), "nats://"), conns: map[net.Conn]struct{}{}}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		_ = ln.Close()
		p.cut()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) url() string { return "nats://" + p.ln.Addr().String() }

func (p *proxy) accept() {
	for {
		client, err := p.ln.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = struct{}{}, struct{}{}
		p.wg.Go(func() { p.copy(server, client, false) })
		p.wg.Go(func() { p.copy(client, server, true) })
		p.mu.Unlock()
	}
}

func (p *proxy) copy(to, from net.Conn, answers bool) {
	defer func() {
		_, _ = to.Close(), from.Close()
		p.mu.Lock()
		delete(p.conns, to)
		delete(p.conns, from)
		p.mu.Unlock()
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		drop := answers && p.deaf
		p.mu.Unlock()
		if n > 0 && !drop {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// lose drops whatever the broker sends from now on: acks, above all.
func (p *proxy) lose() {
	p.mu.Lock()
	p.deaf = true
	p.mu.Unlock()
}

// cut breaks every connection; those made afterwards work.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaf = false
	for c := range p.conns {
		_ = c.Close()
	}
}

// newDistant is a process whose connection goes through the proxy.
func newDistant(t testing.TB, p *proxy) *process {
	t.Helper()
	nc, err := nats.Connect(p.url(), nats.MaxReconnects(-1), nats.ReconnectWait(5*time.Millisecond))
	require.NoError(t, err)
	return newProcessOn(t, nc, producer.Config{})
}
