package relay

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// scarceConnections are kept for when all others are taken: on them only those
	// requests are answered that somebody has to get through, see spared.
	scarceConnections = 32

	// turnedAway is how many connections at once are told that there is no room even
	// for them; further ones are just closed.
	turnedAway = 16

	// freshTime is how long a new connection may be without a request before it has to
	// make room for another one.
	freshTime = time.Second
)

// connections are those that are open. When there are as many as there may be, those
// that are in the middle of nothing have to go: first the one that has been idle for
// longest, then one that never asked for anything.
type connections struct {
	limit int
	told  func(open int) // may be nil; must not block

	mu    sync.Mutex
	open  map[net.Conn]*connection
	fresh list.List // of *connection, oldest first: without a request yet
	idle  list.List // likewise: between two requests
}

type connection struct {
	conn   net.Conn
	scarce bool
	since  time.Time
	in     *list.List // nil while a request is being served
	at     *list.Element
}

func newConnections(limit int, told func(int)) *connections {
	return &connections{limit: limit, told: told, open: map[net.Conn]*connection{}}
}

// admit takes a connection in; false says that there is no room.
func (c *connections) admit(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) >= c.limit {
		c.makeRoom()
	}
	if len(c.open) >= c.limit+scarceConnections {
		return false
	}
	k := &connection{conn: conn, scarce: len(c.open) >= c.limit}
	c.open[conn] = k
	c.put(k, &c.fresh)
	c.tell()
	return true
}

// makeRoom closes a connection that is in the middle of nothing, if there is one.
// Callers hold mu.
func (c *connections) makeRoom() {
	victim := c.idle.Front()
	if victim == nil {
		if victim = c.fresh.Front(); victim == nil || time.Since(victim.Value.(*connection).since) < freshTime {
			return
		}
	}
	k := victim.Value.(*connection)
	_ = k.conn.Close() // its server notices, and tells changed, which finds it gone
	c.remove(k)
}

// put says what a connection does now; nil means that it serves. Callers hold mu.
func (c *connections) put(k *connection, in *list.List) {
	if k.in != nil {
		k.in.Remove(k.at)
	}
	k.in, k.since = in, time.Now()
	if in != nil {
		k.at = in.PushBack(k)
	}
}

func (c *connections) remove(k *connection) {
	c.put(k, nil)
	delete(c.open, k.conn)
	c.tell()
}

func (c *connections) tell() {
	if c.told != nil {
		c.told(len(c.open))
	}
}

// changed is for http.Server.ConnState.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.open[conn]
	if k == nil {
		return
	}
	switch state {
	case http.StateActive:
		c.put(k, nil)
	case http.StateIdle:
		c.put(k, &c.idle)
	case http.StateClosed, http.StateHijacked:
		c.remove(k)
	case http.StateNew:
	}
}

// isScarce says whether a connection is one of those that are kept for when all others
// are taken.
func (c *connections) isScarce(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.open[conn]
	return k != nil && k.scarce
}

// spare answers on a scarce connection only what is spared, and closes it then.
func (s *Server) spare(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := peerOf(r.Context()); p == nil || !p.scarce {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Connection", "close")
		if spared(r.Method, r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		s.metrics.turnedAway.WithLabelValues("scarce").Inc()
		answer(w, answerTo(context.Background(), errConnections))
	})
}
