package relay

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"
)

// A body takes room only as it arrives, gives all of it back, and is refused where there
// is none: what another client sends slowly costs nobody anything.
func TestBodiesTakeRoomAsTheyArrive(t *testing.T) {
	t.Parallel()
	room := semaphore.NewWeighted(4 * roomStep)
	in, out := io.Pipe()
	slow := &roomed{ReadCloser: in, room: room}
	go func() { _, _ = out.Write([]byte("x")) }()
	n, err := slow.Read(make([]byte, 10))
	require.NoError(t, err)
	require.Equal(t, 1, n)

	read := func(size int) ([]byte, *roomed, error) {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("y", size)))
		b := &roomed{ReadCloser: r.Body, room: room}
		r.Body = b
		body, err := readBody(httptest.NewRecorder(), r, 1<<20)
		return body, b, err
	}
	body, whole, err := read(3 * roomStep)
	require.NoError(t, err)
	require.Equal(t, 3*roomStep, len(bytes.TrimLeft(body, "x")))
	_, more, err := read(1)
	require.ErrorIs(t, err, errBusy)
	more.leave()
	whole.leave()
	whole.leave()
	_, more, err = read(3*roomStep + 1)
	require.ErrorIs(t, err, errBusy)
	more.leave()
	slow.leave()
	require.True(t, room.TryAcquire(4*roomStep), "all of it is back")
}
