package limits_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/test/harness"
)

// Requests that take their time, header by header or byte by byte, are given up, however
// steadily they trickle.
func TestSlowRequestsAreGivenUp(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	r := f.Relay(harness.RelayConfig{})
	addr := strings.TrimPrefix(r.URL, "http://")
	for name, head := range map[string]string{
		"headers": "POST /chat/stop HTTP/1.1\r\nHost: x\r\nX-Slow: ",
		"body":    "POST /chat/stop HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\n{",
		"send":    "POST /chat/send HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{",
		"unread":  "POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\n{",
		"start":   "POST /runs HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", addr)
			require.NoError(t, err)
			defer conn.Close()
			_, err = io.WriteString(conn, head)
			require.NoError(t, err)
			over := make(chan struct{})
			defer close(over)
			go func() {
				for {
					select {
					case <-over:
						return
					case <-time.After(200 * time.Millisecond):
						_, _ = io.WriteString(conn, " ")
					}
				}
			}()
			require.NoError(t, conn.SetReadDeadline(time.Now().Add(harness.Patience)))
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NotErrorIs(t, err, errTimeout{})
			if name == "headers" || name == "unread" {
				require.Error(t, err, "net/http has nobody to answer yet, or gives up reading before it does")
				return
			}
			require.NoError(t, err)
			require.GreaterOrEqual(t, resp.StatusCode, 400)
			require.Less(t, resp.StatusCode, 500)
			require.Equal(t, "application/problem+json", resp.Header.Get("Content-Type"))
			_, err = io.Copy(io.Discard, conn)
			require.NotErrorIs(t, err, errTimeout{}, "the connection is closed behind it")
		})
	}
}

// errTimeout is any error that says that a deadline has passed.
type errTimeout struct{}

func (errTimeout) Error() string { return "timeout" }

// Is says whether another error is one.
func (errTimeout) Is(err error) bool {
	n, ok := err.(net.Error) //nolint:errorlint // it is the chain's own walk
	return ok && n.Timeout()
}

// Requests that are too large are refused in words where HTTP has any.
func TestLargeRequestsAreRefused(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	r := f.Relay(harness.RelayConfig{Relay: relay.Config{Limits: relay.Limits{HeaderBytes: 8 << 10}}})
	long := strings.Repeat("x", 1<<20)
	for what, c := range map[string]struct {
		method, path, body, header string
		status                     int
	}{
		"header":       {http.MethodGet, "/livez", "", long, http.StatusRequestHeaderFieldsTooLarge},
		"query":        {http.MethodGet, "/chat/live?chat_id=" + long[:100<<10], "", "", http.StatusRequestHeaderFieldsTooLarge},
		"chat id":      {http.MethodPost, "/chat/live", harness.Live(long[:257]), "", http.StatusBadRequest},
		"chat in path": {http.MethodGet, "/chat/" + long[:257] + "/history", "", "", http.StatusBadRequest},
		"run in path":  {http.MethodGet, "/runs/" + long[:4000], "", "", http.StatusNotFound},
		"watch":        {http.MethodPost, "/chat/live", harness.Live("c", "x", long[:64<<10]), "", http.StatusRequestEntityTooLarge},
		"stop":         {http.MethodPost, "/chat/stop", `{"chat_id":"c","run_id":"` + long[:64<<10] + `"}`, "", http.StatusRequestEntityTooLarge},
		"answer":       {http.MethodPost, "/chat/answer", `{"chat_id":"c","outcome":{"x":"` + long + `"}}`, "", http.StatusRequestEntityTooLarge},
		"start":        {http.MethodPost, "/runs", `{"chat_id":"c","x":"` + long + `"}`, "", http.StatusRequestEntityTooLarge},
		"send":         {http.MethodPost, "/chat/send", `{"chat_id":"c","input":{"text":"` + strings.Repeat(long, 5) + `"}}`, "", http.StatusRequestEntityTooLarge},
		"token":        {http.MethodPost, "/chat/send", `{"chat_id":"c","input":{"text":"x"},"client_token":"` + long[:129] + `"}`, "", http.StatusBadRequest},
		"kind":         {http.MethodPost, "/chat/send", `{"chat_id":"c","input":{"text":"x"},"kind":"` + long[:65] + `"}`, "", http.StatusBadRequest},
		"body of GET":  {http.MethodGet, "/livez", long, "", http.StatusRequestEntityTooLarge},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			header := []string{"X-Long", "x" + c.header}
			// Its own time: others may come before it.
			answer, err := harness.Ask(bounded(t), c.method, r.URL+c.path, c.body, header...)
			require.NoError(t, err)
			body, err := answer.Rest()
			require.NoError(t, err)
			require.Equal(t, c.status, answer.Status, "%.500s", body)
			if c.status != http.StatusRequestHeaderFieldsTooLarge {
				require.Equal(t, "application/problem+json", answer.Header.Get("Content-Type"))
				require.Less(t, len(body), 2000)
			}
		})
	}
}

// A reader of a snapshot that reads so slowly that it is not cut off for stalling, but
// stands in the way of others, is cut off for that; one that hinders nobody is not.
func TestADrippingReaderIsCutOffForOthers(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	f := harness.New(t, harness.Config{})
	r := f.Relay(harness.RelayConfig{Hub: consumer.HubConfig{MaxBytes: 1 << 20, HoldTime: time.Millisecond}})
	p := f.Producer(f.Connect())
	slow, other := f.Start(p, "slow"), f.Start(p, "other")
	const size = 3 << 20
	for range 3 * 8 {
		publish(ctx, t, slow, tick(128<<10))
	}
	publish(ctx, t, other, tick(1000))
	conn, err := narrow.DialContext(ctx, "tcp", strings.TrimPrefix(r.URL, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "GET /runs/%s/snapshot HTTP/1.1\r\nHost: x\r\n\r\n", slow.ID())
	require.NoError(t, err)
	dripped := make(chan int)
	go func() {
		n, b := 0, make([]byte, 4<<10)
		for {
			k, err := conn.Read(b)
			if n += k; err != nil {
				dripped <- n
				return
			}
			time.Sleep(10 * time.Millisecond) // it is slow, and never stops
		}
	}()
	harness.Eventually(t, "it has its snapshot", func() bool { return r.Number("rejoin_replay_held_bytes") >= size })
	for {
		status, _, answer, err := once(ctx, http.MethodGet, r.URL+"/runs/"+string(other.ID())+"/snapshot", "")
		require.NoError(t, err)
		if status == http.StatusOK {
			break
		}
		require.Equal(t, http.StatusServiceUnavailable, status, answer) // it is to come back
	}
	require.Less(t, <-dripped, size)
	harness.Eventually(t, "nothing is held", func() bool { return r.Number("rejoin_replay_held_bytes") == 0 })
}
