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

// When all room is taken by large bodies, of messages or of those who watch, what is small
// passes, and so does an answer of any size.
func TestWhatIsSmallAndAnswersPassWhereThereIsNoRoom(t *testing.T) {
	t.Parallel()
	s := &Server{room: semaphore.NewWeighted(roomStep), aside: semaphore.NewWeighted(asideBytes)}
	require.True(t, s.room.TryAcquire(roomStep))
	ask := func(h handler, size int) error {
		body := `{"chat_id":"","protocol":1,"pad":"` + strings.Repeat("x", size) + `"}`
		return h(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
	}
	require.ErrorIs(t, ask(s.livePost, 2*maxBody), errBusy)
	for _, err := range []error{ask(s.livePost, 100), ask(s.answer, 100), ask(s.answer, 4*maxBody), ask(s.stop, 100)} {
		require.ErrorContains(t, err, "chat_id", "it got as far as what is wrong with it")
	}
	require.True(t, s.aside.TryAcquire(asideBytes), "all of it is back")
}

// What is left of a body that is too large is thrown away, and takes no room meanwhile.
func TestWhatIsTooLargeLeavesTheRoom(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	room := semaphore.NewWeighted(size)
	late := &probedBody{Reader: strings.NewReader(strings.Repeat("x", size)), from: size / 2, probe: func() {
		if !room.TryAcquire(size) {
			t.Error("a body that is refused still takes room")
			return
		}
		room.Release(size)
	}}
	r := httptest.NewRequest(http.MethodPost, "/chat/send", late)
	r.Body = &roomed{ReadCloser: r.Body, room: room}
	_, err := readBody(httptest.NewRecorder(), r, 64<<10)
	require.ErrorContains(t, err, "too_large")
	require.EqualValues(t, size, late.read, "it is read on, so that its sender sees the answer")
}

// probedBody calls probe with every read behind the first bytes.
type probedBody struct {
	io.Reader
	read, from int
	probe      func()
}

func (b *probedBody) Read(p []byte) (int, error) {
	if b.read >= b.from {
		b.probe()
	}
	n, err := b.Reader.Read(p)
	b.read += n
	return n, err
}
