package client_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/bench/client"
)

// serve starts a server of net/http's and says where it is.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func dial(t *testing.T, addr string, o client.Options) *client.Conn {
	t.Helper()
	c, err := client.Dial(t.Context(), addr, o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// echo answers with what it was asked.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.WriteHeader(http.StatusAccepted)
	fmt.Fprintf(w, "%s %s %s %s", r.Method, r.URL, r.Header.Get("X-A"), body)
}

// write sends n frames of an SSE stream, and its end. Each has a size.
func write(n, size int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, ":\n\n")
		for i := range n {
			fmt.Fprintf(w, "id: run:%d\ndata: {\"type\":\"STREAM_EVENT\",\"pad\":\"%s\"}\n\n", i+1, strings.Repeat("x", size))
			if i%3 == 0 {
				w.(http.Flusher).Flush()
			}
		}
	}
}

// seen is a Handler that checks the order of frames and counts them. Its fields may be
// read once done is closed.
type seen struct {
	frames, bytes uint64
	wrong         int
	answers       []string
	why           error
	done          chan struct{}
	once          sync.Once
}

func newSeen() *seen { return &seen{done: make(chan struct{})} }

func (s *seen) Frame(f *client.Frame, at time.Time) {
	s.bytes += uint64(len(f.Data))
	if at.IsZero() || f.Type != client.Event || string(f.Run) != "run" || f.Seq != s.frames+1 {
		s.wrong++
	}
	if f.Last {
		s.frames++
	}
}

func (s *seen) Answer(status int, body []byte, _ time.Time) {
	s.answers = append(s.answers, fmt.Sprint(status, " ", string(body)))
}

func (s *seen) Closed(err error) {
	s.why = err
	s.once.Do(func() { close(s.done) })
}

func TestAConnectionIsKeptFromRequestToRequest(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, echo), client.Options{Source: client.Source(0)})
	for range 3 {
		status, answer, err := c.Get("/a?b=c", client.Header{Name: "X-A", Value: "y"})
		require.NoError(t, err)
		require.Equal(t, http.StatusAccepted, status)
		require.Equal(t, "GET /a?b=c y ", string(answer))
		_, answer, err = c.Post("/p", []byte("body"))
		require.NoError(t, err)
		require.Equal(t, "POST /p  body", string(answer))
		body, err := c.Stream("/s")
		require.NoError(t, err)
		_, err = body.Write([]byte("one "))
		require.NoError(t, err)
		require.NoError(t, body.Flush())
		_, err = body.Write([]byte("two"))
		require.NoError(t, err)
		_, answer, err = body.Close()
		require.NoError(t, err)
		require.Equal(t, "POST /s  one two", string(answer))
	}
}

func TestAStreamIsToldToItsEnd(t *testing.T) {
	t.Parallel()
	for _, size := range []int{10, 5_000, 1 << 20} {
		n := 6
		c := dial(t, serve(t, write(n, size)), client.Options{Buffer: 8 << 10})
		s := newSeen()
		require.NoError(t, c.Watch("/", s))
		require.EqualValues(t, n, s.frames)
		require.Zero(t, s.wrong)
		require.Greater(t, s.bytes, uint64(n*size))
		require.Equal(t, []string{"200 "}, s.answers)
		status, _, err := c.Get("/")
		require.NoError(t, err, "and the connection is good for more")
		require.Equal(t, http.StatusOK, status)
	}
}

func TestClosingEndsAWatch(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		close(begun)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	c, err := client.Dial(ctx, addr, client.Options{})
	require.NoError(t, err)
	go func() {
		<-begun
		cancel()
	}()
	require.ErrorIs(t, c.Watch("/", newSeen()), client.ErrClosed)
	require.NoError(t, c.Close())
}

func TestRunsAreMadeAndEnded(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path + " " + string(body) {
		case `/runs {"chat_id":"a\"b"}`:
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, `{"run_id":"r9","chat_id":"a\"b"}`)
		case `/runs/r9/end {"persisted":true}`:
			fmt.Fprint(w, `{"seq":12}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, "no such thing")
		}
	}), client.Options{})
	run, err := c.StartRun(`a"b`)
	require.NoError(t, err)
	require.Equal(t, "r9", run)
	seq, err := c.EndRun(run)
	require.NoError(t, err)
	require.EqualValues(t, 12, seq)
	_, err = c.EndRun("other")
	require.ErrorIs(t, err, client.ErrStatus)
	require.ErrorContains(t, err, "no such thing")
	require.Equal(t, "/chat/live?chat_id=a%22b&run_id=r9&after_seq=4", client.CursorPath(`a"b`, "r9", 4))
}

func TestSourcesFollowEachOther(t *testing.T) {
	t.Parallel()
	require.Equal(t, [4]byte{127, 0, 1, 1}, client.Source(0))
	require.Equal(t, client.Source(0), client.Source(4095))
	require.Equal(t, [4]byte{127, 0, 1, 2}, client.Source(4096))
	require.Equal(t, [4]byte{127, 0, 2, 1}, client.Source(250*4096))
}
