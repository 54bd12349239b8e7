package relay

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// fake is a connection that knows whether it was closed.
type fake struct {
	net.Conn
	closed bool
}

func (f *fake) Close() error {
	f.closed = true
	return nil
}

// When all connections are taken, the one that has been idle for longest makes room, then
// one that has asked for nothing for a while; else those kept for it are given out.
func TestConnectionsMakeRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var open int
		all := newConnections(4, func(n int) { open = n })
		conns := make([]*fake, 4)
		for i := range conns {
			conns[i] = &fake{}
			require.True(t, all.admit(conns[i]))
			require.False(t, all.isScarce(conns[i]))
			time.Sleep(time.Millisecond)
		}
		busy, fresh, second, first := conns[0], conns[1], conns[2], conns[3]
		all.changed(busy, http.StateActive)
		all.changed(first, http.StateActive)
		all.changed(second, http.StateActive)
		all.changed(first, http.StateIdle)
		all.changed(second, http.StateIdle)
		for _, victim := range []*fake{first, second} {
			next := &fake{}
			require.True(t, all.admit(next))
			require.True(t, victim.closed)
			require.False(t, all.isScarce(next))
			require.Equal(t, 4, open)
			all.changed(victim, http.StateClosed) // its server has noticed
			require.Equal(t, 4, open)
			all.changed(next, http.StateActive)
		}
		scarce := &fake{}
		require.True(t, all.admit(scarce), "fresh has had no time yet")
		require.True(t, all.isScarce(scarce))
		all.changed(scarce, http.StateActive)
		time.Sleep(freshTime)
		next := &fake{}
		require.True(t, all.admit(next))
		require.True(t, fresh.closed)
		require.True(t, all.isScarce(next), "there is still one too many")
		for range scarceConnections - 1 {
			require.True(t, all.admit(&fake{}))
		}
		require.False(t, all.admit(&fake{}))
		require.False(t, busy.closed)
		all.changed(scarce, http.StateClosed)
		require.True(t, all.admit(&fake{}))
	})
}

// Who is turned away is told so in HTTP, whatever it was about to send.
func TestTurnedAwayIsTold(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	full := newConnections(0, nil)
	for range scarceConnections {
		require.True(t, full.admit(&fake{}))
	}
	away := make(chan struct{}, 10)
	g := newGate(ln, full, func() { away <- struct{}{} })
	failed := make(chan error)
	go func() {
		_, err := g.Accept()
		failed <- err
	}()
	conn, err := net.Dial("tcp", ln.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "POST /chat/live HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, 503, resp.StatusCode)
	require.NotEmpty(t, resp.Header.Get("Retry-After"))
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"urn:rejoin:problem:too_many_requests","title":"Too many requests","status":503,"code":"too_many_requests",
		"detail":"this relay has as many connections as it may have; try again later or elsewhere"}`, string(body))
	<-away
	require.NoError(t, ln.Close())
	require.Error(t, <-failed)
	g.wait()
}

func TestWhatIsSpared(t *testing.T) {
	t.Parallel()
	for _, yes := range []string{"GET /livez", "HEAD /readyz", "GET /metrics", "POST /chat/stop", "POST /chat/answer", "POST /chat/send",
		"POST /chat/steer-send", "PUT /admin/switch", "POST /runs/0-x/heartbeat", "POST /runs/0-x/end"} {
		require.True(t, spared(cut(yes)), yes)
	}
	for _, no := range []string{"POST /chat", "POST /chat/live", "GET /chat/live", "POST /runs", "POST /runs/0-x/events", "GET /runs/0-x",
		"GET /runs/0-x/end", "GET /chat/c/history", "POST /livez", "GET /"} {
		require.False(t, spared(cut(no)), no)
	}
}

func cut(s string) (method, path string) {
	for i := range s {
		if s[i] == ' ' {
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}
