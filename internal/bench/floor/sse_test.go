package floor_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/bench/floor"
)

// bare serves until the test ends.
func bare(t *testing.T) string {
	t.Helper()
	s := floor.NewServer()
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		s.Close() // more than once
		server.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return server.URL
}

// follow opens a stream, after whose begin the topic knows its reader.
func follow(t *testing.T, url string) *bufio.Reader {
	t.Helper()
	resp, err := http.Get(url)
	require.NoError(t, err)
	t.Cleanup(func() { resp.Body.Close() })
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	r := bufio.NewReader(resp.Body)
	require.Equal(t, ":\n\n", read(t, r, 3))
	return r
}

func read(t *testing.T, r io.Reader, n int) string {
	t.Helper()
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	require.NoError(t, err)
	return string(b)
}

func publish(t *testing.T, url, body string) {
	t.Helper()
	resp, err := http.Post(url, "", strings.NewReader(body))
	require.NoError(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.JSONEq(t, fmt.Sprintf(`{"accepted":%d}`, len(strings.Fields(body))), string(answer))
}

func TestEveryReaderOfATopicGetsEveryEvent(t *testing.T) {
	t.Parallel()
	url := bare(t)
	a, b, other := follow(t, url+"/t/x"), follow(t, url+"/t/x"), follow(t, url+"/t/y")
	publish(t, url+"/t/x", "{1}\n{2}\n\n{3}")
	publish(t, url+"/t/y", "{9}\n")
	const all = "data: {1}\n\ndata: {2}\n\ndata: {3}\n\n"
	require.Equal(t, all, read(t, a, len(all)))
	require.Equal(t, all, read(t, b, len(all)))
	require.Equal(t, "data: {9}\n\n", read(t, other, 11))
}

func TestWhatIsKeptIsReplayed(t *testing.T) {
	t.Parallel()
	url := bare(t)
	long := strings.Repeat("x", 200_000)
	publish(t, url+"/t/x", "{1}\n"+long+"\n{3}\n")
	all := "data: {1}\n\ndata: " + long + "\n\ndata: {3}\n\n"
	require.Equal(t, all, read(t, follow(t, url+"/t/x?from=0"), len(all)))
	require.Equal(t, "data: {3}\n\n", read(t, follow(t, url+"/t/x?from=2"), 11))
	head := follow(t, url+"/t/x?from=3")
	publish(t, url+"/t/x", "{4}\n")
	require.Equal(t, "data: {4}\n\n", read(t, head, 11))
}

// Not once the body ends: it may stay open.
func TestALineIsPublishedAsItComes(t *testing.T) {
	t.Parallel()
	url := bare(t)
	r := follow(t, url+"/t/x")
	body, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		resp, err := http.Post(url+"/t/x", "", body)
		if err == nil {
			resp.Body.Close()
		}
		done <- err
	}()
	for i := range 3 {
		fmt.Fprintf(w, "{%d}\n", i)
		require.Equal(t, fmt.Sprintf("data: {%d}\n\n", i), read(t, r, 11))
	}
	require.NoError(t, w.Close())
	require.NoError(t, <-done)
}

func TestWrongRequestsAreRefused(t *testing.T) {
	t.Parallel()
	url := bare(t)
	for path, status := range map[string]int{"/": 404, "/t/": 404, "/t/x?from=y": 400, "/t/x?from=-1": 400} {
		resp, err := http.Get(url + path)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, status, resp.StatusCode, path)
	}
}

func TestCopyingTakesTime(t *testing.T) {
	t.Parallel()
	require.Zero(t, floor.Copy(0))
	require.Positive(t, floor.Copy(1<<20))
	require.Less(t, floor.Copy(1<<10), time.Minute)
}
