package relay_test

import (
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// bare is the least that a Go program can do to stream over HTTP: it broadcasts from
// memory, to handlers that wait on a channel. It is what the relay is measured by.
type bare struct {
	url string

	mu     sync.Mutex
	events [][]byte
	wake   chan struct{}
}

func newBare(t testing.TB) *bare {
	t.Helper()
	b := &bare{wake: make(chan struct{})}
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	srv := &http.Server{Handler: b}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(ln)
	}()
	t.Cleanup(func() {
		srv.Close()
		<-served
	})
	b.url = "http://" + ln.Addr().String()
	return b
}

// publish gives one event to everybody.
func (b *bare) publish(data string) {
	message := []byte("data: " + data + "\n\n")
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, message)
	close(b.wake)
	b.wake = make(chan struct{})
}

func (b *bare) after(n int) ([][]byte, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.events[n:], b.wake
}

// ServeHTTP streams what comes after ?after=n.
func (b *bare) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	flusher := w.(http.Flusher)
	_, _ = w.Write([]byte{':', readyMark, '\n', '\n'})
	flusher.Flush()
	n, _ := strconv.Atoi(r.FormValue("after"))
	for {
		events, wake := b.after(n)
		for _, e := range events {
			if _, err := w.Write(e); err != nil {
				return
			}
		}
		if n += len(events); len(events) > 0 {
			flusher.Flush()
			continue
		}
		select {
		case <-wake:
		case <-r.Context().Done():
			return
		}
	}
}
