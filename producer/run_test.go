package producer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
)

func TestWhatIsPublishedIsInTheLogInOrder(t *testing.T) {
	t.Parallel()
	p := newProcess(t, broker(t, natsd.Config{}), producer.Config{})
	r := p.start(t, "c")
	var want [][]byte
	for i := range 1000 {
		seq, err := r.Publish(within(t), text(i))
		require.NoError(t, err)
		require.EqualValues(t, i+1, seq)
		want = append(want, text(i))
	}
	stored, err := r.Flush(within(t))
	require.NoError(t, err)
	require.EqualValues(t, 1000, stored)

	end, err := r.Finish(within(t), producer.FinishOptions{Persisted: true})
	require.NoError(t, err)
	require.Equal(t, subjects.End{Persisted: true, Reason: subjects.ReasonDone}, end)

	got, logged := p.events(t, r.ID())
	require.Equal(t, want, got)
	require.Equal(t, &end, logged)
	e, err := p.store.Entry(within(t), r.ID())
	require.NoError(t, err)
	require.Equal(t, runs.StateEnded, e.State)
	require.Equal(t, &end, e.End)
	require.EqualValues(t, 1000, e.Seq)
	covered := uint64(0)
	for seg, err := range p.store.Segments(within(t), r.ID(), e.Segments) {
		require.NoError(t, err)
		require.Equal(t, covered+1, seg.From)
		covered = seg.To
	}
	require.EqualValues(t, 1000, covered, "an ended run is wholly in segments")
}
