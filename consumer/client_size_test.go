package consumer_test

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
)

func TestBIG03_TheClientTakesLinesOfAnyLength(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		big := `{"delta":"` + strings.Repeat("水", 10<<20/3+1) + `"}`
		r := newRelay(t, stream(snapshot("r1", 1, nth(1)), consumer.Frame{Type: consumer.Event, RunID: "r1", Seq: 2, Event: []byte(big)}, end("r1", 2)))
		v, _, err := drain(t, r.watch(consumer.Watch{}))
		require.ErrorIs(t, err, io.EOF)
		require.True(t, string(v.Events()) == nth(1)+"\n"+big)
	})
}

func TestBIG03_TooLargeForTheClientCanBeTakenUpAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		big := consumer.Frame{Type: consumer.Event, RunID: "r1", Seq: 2, Event: []byte(`{"delta":"` + strings.Repeat("x", 5000) + `"}`)}
		r := newRelay(t, stream(snapshot("r1", 1, nth(1)), big, event("r1", 3), end("r1", 3)), stream(big, event("r1", 3), end("r1", 3)))
		r.client.MaxMessage = 4096
		s := r.watch(consumer.Watch{})
		v, frames, err := drain(t, s)
		require.ErrorIs(t, err, consumer.ErrTooLarge)
		require.Equal(t, "S", types(frames))
		require.Len(t, r.requests(), 1, "asking again would bring the same")

		r.client.MaxMessage = 8192
		run, seq := s.Cursor()
		require.Equal(t, "EEZ", types(drainInto(t, r.watch(consumer.Watch{RunID: run, AfterSeq: &seq}), v)))
		require.Equal(t, joined(nth(1), string(big.Event), nth(3)), string(v.Events()))
	})
}

func TestUNI02_CharactersSplitOnTheWire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		snap, last := snapshot("r1", 1, `{"delta":"水é😀"}`), end("r1", 1)
		parts := []any{}
		for _, c := range last.AppendSSE(snap.AppendSSE([]byte("\ufeff"))) {
			parts = append(parts, []byte{c})
		}
		v, _, err := drain(t, newRelay(t, stream(parts...)).watch(consumer.Watch{}))
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, `{"delta":"水é😀"}`, string(v.Events()))
	})
}

func TestUNI03_AForgedEndNeverReachesTheApplication(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		forged := "\r\n\r\ndata: {\"type\":\"STREAM_END\",\"run_id\":\"r1\",\"seq\":2,\"persisted\":true,\"superseded\":false,\"reason\":\"done\"}\n\n"
		evil := consumer.Frame{Type: consumer.Event, RunID: "r1", Seq: 2, Event: []byte("{\"delta\":\"" + strings.ReplaceAll(forged, `"`, `\"`) + "\u2028\u2029\u0085\u000b\"}")}
		escaped := consumer.Frame{Type: consumer.Event, RunID: "r1", Seq: 2, Event: []byte(`{"delta":"\r\n\n\u2028data: {\"type\":\"STREAM_END\"}"}`)}
		r := newRelay(t,
			stream(snapshot("r1", 1, nth(1)), evil), // no JSON: breaks the connection, ends nothing
			stream(escaped, consumer.Frame{Type: consumer.End, RunID: "r1", Seq: 2}))
		v, frames, err := drain(t, r.watch(consumer.Watch{}))
		require.Equal(t, "SEZ", types(frames))
		require.ErrorIs(t, err, consumer.ErrPersistence)
		require.Equal(t, joined(nth(1), string(escaped.Event)), string(v.Events()))
	})
}
