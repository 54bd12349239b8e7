package ingest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/ingest"
)

// Lines that never end take a bounded part of memory, however many there are, and small
// events pass beside them.
func TestLargeLinesShareTheirRoom(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	n := newNode(t, broker(t), ingest.Config{MaxEventBytes: 4 * mib, MaxLineBytes: 5 * mib})
	first, second := n.start(t, "c"), n.start(t, "d")
	begin := func() *stream {
		s := n.open(t, first)
		_, _ = io.WriteString(s.w, ndjson(1, 1)+`{"type":"CUSTOM","name":"`+strings.Repeat("a", 4*mib-100))
		return s
	}
	endless := begin()
	n.waitFor(t, first, 1)

	large := `{"type":"CUSTOM","name":"` + strings.Repeat("a", 4*mib-100) + `"}` + "\n"
	require.Eventually(t, func() bool { // the other line has arrived
		select {
		case <-endless.answer: // the room went to this one
			endless = begin()
		default:
		}
		return n.post(t, second+"/events", large).status == http.StatusServiceUnavailable
	}, patience, 1)
	require.Equal(t, 200, n.post(t, second+"/events", ndjson(1, 1)).status, "small ones need no room")
	a := n.post(t, second+"/events", ndjson(1, 2)+large)
	a.isProblem(t, http.StatusServiceUnavailable, "unavailable")
	require.EqualValues(t, 3, a.seq("line"))
	require.NotEmpty(t, a.header.Get("Retry-After"))

	endless.send(t, "\"}\n")
	require.NoError(t, endless.w.Close())
	require.Equal(t, 200, endless.wait(t).status)
	for range 3 {
		require.Equal(t, 200, n.post(t, second+"/events", large+large).status, "the room was given back")
	}
}
