package relay

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
)

// Whatever the sizes, the bytes are those of AppendSSE and no chunk is too large.
func TestChunksAreTheFrame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var got, want bytes.Buffer
		c := chunks{send: func(b []byte) error {
			require.LessOrEqual(t, len(b), chunkSize)
			got.Write(b)
			return nil
		}}
		for range rapid.IntRange(1, 4).Draw(t, "frames") {
			f := drawFrame(t)
			want.Write(f.AppendSSE(nil))
			c.frame(&f)
			require.LessOrEqual(t, len(c.buf), chunkSize)
		}
		c.pass()
		require.NoError(t, c.err)
		require.True(t, bytes.Equal(want.Bytes(), got.Bytes()))
	})
}

func drawFrame(t *rapid.T) consumer.Frame {
	id := rapid.SampledFrom([]subjects.RunID{"0-null00000000000000000000ab", "r[]", "r"}).Draw(t, "run")
	text := func() string {
		n := rapid.SampledFrom([]int{0, 1, 100, chunkSize - frameRoom - 20, chunkSize - 7, chunkSize, 3 * chunkSize}).Draw(t, "size")
		return `{"v":"` + strings.Repeat("x", n) + `"` + rapid.SampledFrom([]string{"", "\r", " "}).Draw(t, "space") + `}`
	}
	f := consumer.Frame{Type: consumer.Event, RunID: id, Seq: 7, Event: []byte(text())}
	switch rapid.IntRange(0, 2).Draw(t, "type") {
	case 0:
		var events []string
		for range rapid.IntRange(0, 5).Draw(t, "events") {
			events = append(events, text())
		}
		f = consumer.Frame{Type: consumer.Snapshot, RunID: id, Seq: 7, Events: []byte(strings.Join(events, "\n"))}
	case 1:
		f = consumer.Frame{Type: consumer.End, RunID: id, Seq: 7, End: subjects.End{Reason: subjects.ReasonDone}}
	}
	return f
}

func TestChunksStopAtAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	calls := 0
	c := chunks{send: func([]byte) error { calls++; return broken }}
	c.json(bytes.Repeat([]byte("x"), 10*chunkSize))
	require.ErrorIs(t, c.err, broken)
	c.pass()
	require.Equal(t, 1, calls)
}
