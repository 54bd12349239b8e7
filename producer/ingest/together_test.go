package ingest_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/ingest"
	"github.com/rejoin/rejoin/subjects"
)

// records is how many records of a run's log hold events.
func (n *node) records(t testing.TB, path string) (count int) {
	t.Helper()
	id, err := subjects.ParseRunID(strings.TrimPrefix(path, "/runs/"))
	require.NoError(t, err)
	page, err := n.store.Page(within(t), id, 0)
	require.NoError(t, err)
	for _, rec := range page {
		if rec.Kind == subjects.KindEvents {
			count++
		}
	}
	return count
}

func TestWhatComesTogetherIsStoredTogether(t *testing.T) {
	t.Parallel()
	n := newNode(t, broker(t), ingest.Config{})
	path := n.start(t, "c")
	for i := range 5 {
		require.Equal(t, 200, n.post(t, path+"/events", ndjson(1+20*i, 20+20*i)).status)
		require.Equal(t, 1+i, n.records(t, path))
	}
	n.wantEvents(t, path, 100)
}

// A body of a known length may come bit by bit: each line counts from when it is there.
func TestAShortBodyIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	n := newNode(t, broker(t), ingest.Config{})
	path := n.start(t, "c")
	conn, err := net.Dial("tcp", n.server.Listener.Addr().String()) //nolint:noctx // a test
	require.NoError(t, err)
	defer conn.Close()
	body := ndjson(1, 4)
	_, err = fmt.Fprintf(conn, "POST %s/events HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", path, len(body))
	require.NoError(t, err)
	for i := range 4 {
		line := event(i+1) + "\n"
		_, err = conn.Write([]byte(line[:10]))
		require.NoError(t, err)
		n.waitFor(t, path, i)
		_, err = conn.Write([]byte(line[10:]))
		require.NoError(t, err)
		n.waitFor(t, path, i+1)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 200, resp.StatusCode)
	n.wantEvents(t, path, 4)
}
