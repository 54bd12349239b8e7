package producer_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/producer"
)

// What another process had published and what follows it is folded into one, though this one
// has scanned only the latter.
func TestATakeoverLeavesNoSeamInASnapshot(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	a, b := newProcess(t, s, producer.Config{}), newProcess(t, s, producer.Config{})
	r := a.start(t, "c")
	var all [][]byte
	for i := 1; i <= 60; i++ {
		if i%20 == 0 {
			_, err := r.Flush(within(t))
			require.NoError(t, err)
			r, err = b.Resume(within(t), r.ID())
			require.NoError(t, err)
		}
		_, err := r.Publish(within(t), text(i))
		require.NoError(t, err)
		all = append(all, text(i))
	}
	_, err := r.Flush(within(t))
	require.NoError(t, err)
	events, seq, err := r.Snapshot(within(t))
	require.NoError(t, err)
	require.EqualValues(t, 60, seq)
	require.Equal(t, folded(t, bytes.Join(all, []byte{'\n'})), string(events))
}
