package relay

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rejoin/rejoin/internal/problem"
)

// errConnections is for a request on a connection that is one too many.
var errConnections = errors.New("too many connections")

// spared says whether a request is short and one that somebody has to get through when
// everything else is at its limit: stopping, answering, sending, health, numbers, the
// kill switch, and what keeps a producer's run alive and ends it.
func spared(method, path string) bool {
	switch path {
	case "/livez", "/readyz", "/metrics":
		return method == http.MethodGet || method == http.MethodHead
	case "/chat/stop", "/chat/answer", "/chat/send", "/chat/steer-send":
		return method == http.MethodPost
	case "/admin/switch":
		return true
	}
	return method == http.MethodPost && strings.HasPrefix(path, "/runs/") &&
		(strings.HasSuffix(path, "/heartbeat") || strings.HasSuffix(path, "/end"))
}

// gate is a listener that gives out no more connections than there may be. When the
// process has no files left, http.Server waits a moment and asks again.
type gate struct {
	net.Listener
	all  *connections
	away func() // a connection was turned away

	leaving chan struct{} // a place for each that is being told
	wg      sync.WaitGroup
}

func newGate(ln net.Listener, all *connections, away func()) *gate {
	return &gate{Listener: ln, all: all, away: away, leaving: make(chan struct{}, turnedAway)}
}

// Accept gives out the next connection that there is room for.
func (g *gate) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if g.all.admit(conn) {
			return conn, nil
		}
		g.away()
		g.turnAway(conn)
	}
}

// wait returns when nobody is being told any more.
func (g *gate) wait() { g.wg.Wait() }

// turnAway tells a client that there is no room, unless too many are being told.
func (g *gate) turnAway(conn net.Conn) {
	select {
	case g.leaving <- struct{}{}:
	default:
		_ = conn.Close()
		return
	}
	g.wg.Go(func() {
		defer func() { <-g.leaving }()
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(time.Second))
		if _, err := io.WriteString(conn, noRoom()); err != nil {
			return
		}
		// A connection that is closed with something unread is reset, and its answer with it.
		if tcp, ok := conn.(*net.TCPConn); ok && tcp.CloseWrite() == nil {
			_, _ = io.CopyN(io.Discard, conn, maxBody)
		}
	})
}

// noRoom is the answer to whatever would have been asked.
func noRoom() string {
	const body = `{"type":"urn:rejoin:problem:` + problem.TooManyRequests + `","title":"Too many requests","status":503,` +
		`"detail":"this relay has as many connections as it may have; try again later or elsewhere","code":"` + problem.TooManyRequests + `"}` + "\n"
	return "HTTP/1.1 503 Service Unavailable\r\nContent-Type: " + problem.ContentType + "\r\nCache-Control: no-store\r\nRetry-After: " +
		strconv.Itoa(1+rand.IntN(5)) + "\r\nConnection: close\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
}
