package consumer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
)

func TestViewHoldsWhatTheFramesSay(t *testing.T) {
	t.Parallel()
	var v consumer.View
	require.NoError(t, v.Apply(snapshot("r1", 2, upTo(2))))
	require.NoError(t, v.Apply(event("r1", 3)))
	require.NoError(t, v.Apply(event("r1", 3)), "a repeat changes nothing")
	require.NoError(t, v.Apply(consumer.Frame{Type: consumer.Synced, RunID: "r1", Seq: 3}))
	require.Equal(t, upTo(3), string(v.Events()))

	for _, f := range []consumer.Frame{
		event("r1", 5), event("r2", 4), end("r1", 4), end("r1", 2), {Type: consumer.Synced, RunID: "r1", Seq: 9}, {},
	} {
		require.ErrorIs(t, v.Apply(f), consumer.ErrGap)
	}
	require.Nil(t, v.End())
	require.EqualValues(t, 3, v.Seq())
	require.Equal(t, upTo(3), string(v.Events()))

	require.NoError(t, v.Apply(end("r1", 3)))
	require.True(t, v.End().Persisted)
	require.NoError(t, v.Apply(snapshot("r2", 1, nth(1))))
	require.Nil(t, v.End())
	require.EqualValues(t, "r2", v.RunID())
	require.Equal(t, upTo(1), string(v.Events()))
}

func TestViewNeverChangesWhatItWasGiven(t *testing.T) {
	t.Parallel()
	shared := append(make([]byte, 0, 1024), upTo(1)...)
	f := snapshot("r1", 1)
	f.Events = shared
	var a, b consumer.View
	require.NoError(t, a.Apply(f))
	require.NoError(t, b.Apply(f))
	require.NoError(t, a.Apply(event("r1", 2)))
	held := string(a.Events())
	require.NoError(t, b.Apply(consumer.Frame{Type: consumer.Event, RunID: "r1", Seq: 2, Event: []byte(`{"other":1}`)}))
	require.Equal(t, held, string(a.Events()))
	require.Equal(t, upTo(1), string(shared))
}

func TestViewBeginsAtTheBeginning(t *testing.T) {
	t.Parallel()
	var v consumer.View
	require.ErrorIs(t, v.Apply(event("r1", 2)), consumer.ErrGap)
	require.NoError(t, v.Apply(event("r1", 1)))
	require.Equal(t, upTo(1), string(v.Events()))
	v = consumer.View{}
	require.NoError(t, v.Apply(end("r1", 0)))
	require.NotNil(t, v.End())
	require.Empty(t, v.Events())
}
