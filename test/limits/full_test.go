package limits_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/test/harness"
)

// limitedTo makes a relay process that may have so many open files. A script of its own
// would at times be busy: what is written here may be open in a process that others start.
func limitedTo(r *harness.Rejoin, files int) {
	r.Under = []string{"/bin/sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, files)}
}

// crowd is readers that came all at once: what became of them.
type crowd struct {
	mu      sync.Mutex
	open    []net.Conn
	refused int // told to come back later
	reset   int // closed without a word
}

// come sends n readers and waits until each has its answer.
func (c *crowd) come(ctx context.Context, t *testing.T, url, chat string, n int) {
	t.Helper()
	next := make(chan struct{})
	var coming sync.WaitGroup
	for range 100 {
		coming.Go(func() {
			for range next {
				if err := c.one(ctx, url, chat); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range n {
		next <- struct{}{}
	}
	close(next)
	coming.Wait()
}

func (c *crowd) one(ctx context.Context, url, chat string) error {
	conn, err := begin(ctx, &net.Dialer{Timeout: harness.Patience}, url, chat)
	if err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		_ = conn.Close()
		c.reset++
		return nil
	case resp.StatusCode == http.StatusOK:
		c.open = append(c.open, conn)
		return nil
	}
	defer conn.Close()
	after, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if resp.StatusCode != http.StatusServiceUnavailable || err != nil || after < 1 || after > 60 {
		return fmt.Errorf("status %d, Retry-After %q", resp.StatusCode, resp.Header.Get("Retry-After"))
	}
	c.refused++
	return nil
}

func (c *crowd) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.open {
		_ = conn.Close()
	}
	c.open = nil
}

// vital wants everything that cannot wait to be answered, each on a connection of its own.
func vital(ctx context.Context, t *testing.T, url, chat string) {
	t.Helper()
	for _, path := range []string{"/livez", "/metrics"} {
		status, _, answer, err := once(ctx, http.MethodGet, url+path, "")
		require.NoError(t, err, path)
		require.Equal(t, http.StatusOK, status, "%s: %.500s", path, answer)
	}
	var status int
	var answer string
	harness.Eventually(t, "it is ready, and the broker answers", func() bool { // which it may do late on a busy machine
		ready, _, _, err := once(ctx, http.MethodGet, url+"/readyz", "")
		require.NoError(t, err)
		if ready != http.StatusOK {
			return false
		}
		status, _, answer, err = once(ctx, http.MethodPost, url+"/chat/send", fmt.Sprintf(`{"chat_id":%q,"input":{"text":"hi"},"client_token":"t"}`, chat))
		require.NoError(t, err)
		return !strings.Contains(answer, "the broker does not answer")
	})
	require.Equal(t, http.StatusAccepted, status, answer)
	_, run, _ := strings.Cut(answer, `"run_id":"`)
	run, _, _ = strings.Cut(run, `"`)
	status, _, answer, err := once(ctx, http.MethodPost, url+"/chat/stop", fmt.Sprintf(`{"chat_id":%q,"run_id":%q}`, chat, run))
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, status, answer)
}

// asks publishes a question of a run.
func asks(ctx context.Context, t *testing.T, run *producer.Run, request string) {
	t.Helper()
	publish(ctx, t, run, fmt.Appendf(nil, `{"type":"CUSTOM","name":"x.request","value":{"requestId":%q,"options":["yes","no"]}}`, request))
}

// answers wants an answer to be taken, on a connection of its own.
func answers(ctx context.Context, t *testing.T, url string, run *producer.Run, request string) {
	t.Helper()
	status, _, said, err := once(ctx, http.MethodPost, url+"/chat/answer",
		fmt.Sprintf(`{"chat_id":"chat","run_id":%q,"request_id":%q,"outcome":{"outcome":"selected","optionId":"yes"}}`, run.ID(), request))
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, said)
}

// OPS-02: 2,000 readers come to a relay that may have 1,024 open files, and then as many
// connections as it takes that ask for nothing. It serves as many as there is room for,
// tells the others when to come back, and does what cannot wait all the while. When they
// have left, it is as it was.
func TestOPS02_MoreReadersThanFiles(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	f := harness.New(t, harness.Config{Broker: harness.Networked(t)})
	run := f.Start(f.Producer(f.Connect()), "chat")
	publish(ctx, t, run, tick(100))
	asks(ctx, t, run, "full")
	asks(ctx, t, run, "silent")
	relay := f.RelayProcess()
	limitedTo(relay, 1024)
	relay.Start()
	relay.Ready()
	files := number(t, relay, "process_open_fds")
	vital(ctx, t, relay.URL, "before")

	var c crowd
	c.come(ctx, t, relay.URL, "chat", 2000)
	const watching = 821 // nine of ten connections, of which there are 1,024 - 64 - 32 - 16
	require.Len(t, c.open, watching)
	require.Positive(t, c.refused)
	require.Less(t, c.reset, 100, "hardly any without a word")
	for i := range 5 {
		vital(ctx, t, relay.URL, fmt.Sprint("full ", i))
	}
	answers(ctx, t, relay.URL, run, "full")

	// Those that ask for nothing, and those that are done and stay, have to make room.
	var silent []net.Conn
	defer func() {
		for _, conn := range silent {
			_ = conn.Close()
		}
	}()
	for i := range 400 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(relay.URL, "http://"))
		require.NoError(t, err)
		silent = append(silent, conn)
		switch i % 3 {
		case 1:
			_, _ = io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
		case 2:
			_, _ = io.WriteString(conn, "GET /livez HTTP/1.1\r\nHos")
		}
		if i%100 == 99 {
			time.Sleep(1100 * time.Millisecond) // a new connection has a second to say what it wants
			vital(ctx, t, relay.URL, fmt.Sprint("silent ", i))
		}
	}
	answers(ctx, t, relay.URL, run, "silent")
	require.LessOrEqual(t, number(t, relay, "process_open_fds"), 1024.0)
	require.EqualValues(t, watching, number(t, relay, "rejoin_observers"))

	c.leave()
	for _, conn := range silent {
		_ = conn.Close()
	}
	harness.Eventually(t, "it is as it was", func() bool {
		return number(t, relay, "rejoin_observers") == 0 && number(t, relay, "process_open_fds") <= files+5
	})
	c = crowd{}
	c.come(ctx, t, relay.URL, "chat", 500)
	require.Len(t, c.open, 500)
	c.leave()
	_, err := run.Finish(ctx, producer.FinishOptions{})
	require.NoError(t, err)
}

// OPS-02: a relay that was told that it may have more connections than there are files
// finds none left, and goes on as soon as there are.
func TestOPS02_NoFilesAreLeft(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	f := harness.New(t, harness.Config{Broker: harness.Networked(t)})
	run := f.Start(f.Producer(f.Connect()), "chat")
	publish(ctx, t, run, tick(100))
	relay := f.RelayProcess("--max-connections", "5000", "--max-observers", "5000")
	limitedTo(relay, 128)
	relay.Start()
	relay.Ready()
	files := number(t, relay, "process_open_fds")
	var conns []net.Conn
	for range 300 {
		conn, err := begin(ctx, &net.Dialer{Timeout: harness.Patience}, relay.URL, "chat")
		require.NoError(t, err) // the system takes it, whether or not the relay does
		conns = append(conns, conn)
	}
	var served atomic.Int64
	var reading sync.WaitGroup
	for _, conn := range conns {
		reading.Go(func() {
			if _, err := conn.Read(make([]byte, 1)); err == nil {
				served.Add(1)
			}
		})
	}
	harness.Eventually(t, "many are served", func() bool { return served.Load() > 50 })
	require.Less(t, served.Load(), int64(128), "there are no files for more")
	for _, conn := range conns {
		_ = conn.Close()
	}
	reading.Wait()
	harness.Eventually(t, "it takes connections again", func() bool {
		n, err := relay.Number("process_open_fds")
		return err == nil && n <= files+5
	})
	vital(ctx, t, relay.URL, "again")
}
