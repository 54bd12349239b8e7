package consumer_test

import (
	"io"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
)

func TestClientWatchesARunToItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRelay(t, stream(": hello\n\n", snapshot("r1", 2, nth(1), nth(2)), event("r1", 3), ":\n\n",
			"data: {\"type\":\"STREAM_WEATHER\"}\n\n", "event: other\ndata: x\n\n",
			event("r1", 4), consumer.Frame{Type: consumer.Synced, RunID: "r1", Seq: 4}, end("r1", 4)))
		s := r.watch(consumer.Watch{Synced: true})
		v, frames, err := drain(t, s)
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, "SEEYZ", types(frames))
		require.Equal(t, upTo(4), string(v.Events()))
		require.True(t, v.End().Persisted)
		require.Equal(t, []request{{ChatID: "c1", Protocol: 1, Synced: true}}, timeless(r.requests()))
	})
}
