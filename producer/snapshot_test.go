package producer_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/producer"
)

// folded is what events reduce to; a snapshot's parts may only lie apart where two
// segments meet.
func folded(t testing.TB, lines []byte) string {
	t.Helper()
	var fold agui.Fold
	_, err := fold.AddLines(lines)
	require.NoError(t, err)
	return string(fold.Cut())
}

// mixed is an event of a run of text, in messages of some length.
func mixed(i int) []byte {
	if i%37 == 0 {
		return custom(i)
	}
	return fmt.Appendf(nil, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m%d","delta":"%d "}`, i/100, i)
}

func TestSnapshotIsTheFoldOfAllEvents(t *testing.T) {
	t.Parallel()
	p := newProcess(t, broker(t, natsd.Config{}), producer.Config{})
	for _, n := range []int{0, 1, 511, 512, 513, 5000} {
		r := p.start(t, fmt.Sprint(n))
		var all [][]byte
		for i := 1; i <= n; i++ {
			_, err := r.Publish(within(t), mixed(i))
			require.NoError(t, err)
			all = append(all, mixed(i))
			if i%311 == 0 { // while checkpoints go on
				events, seq, err := r.Snapshot(within(t))
				require.NoError(t, err)
				require.Equal(t, folded(t, bytes.Join(all[:seq], []byte{'\n'})), folded(t, events))
			}
		}
		check := func(ctx context.Context) error {
			events, seq, err := r.Snapshot(ctx)
			require.NoError(t, err)
			require.EqualValues(t, n, seq)
			require.Equal(t, folded(t, bytes.Join(all, []byte{'\n'})), folded(t, events))
			return nil
		}
		_, err := r.Flush(within(t))
		require.NoError(t, err)
		require.NoError(t, check(within(t)))
		end, err := r.Finish(within(t), producer.FinishOptions{Save: check})
		require.NoError(t, err)
		require.True(t, end.Persisted, "%d", n)
	}
}

// Segments are stored while snapshots are made: what moves from the log into one is in the
// snapshot once.
func TestSnapshotsWhileSegmentsAreStored(t *testing.T) {
	t.Parallel()
	p := newProcess(t, broker(t, natsd.Config{}), producer.Config{})
	r := p.start(t, "c")
	const n = 20_000
	var all [][]byte
	for i := 1; i <= n; i++ {
		all = append(all, custom(i)) // never merged: the snapshot is the events
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for _, event := range all {
			if _, err := r.Publish(within(t), event); err != nil {
				t.Error(err)
				return
			}
		}
	})
	defer wg.Wait()
	for seq := uint64(0); seq < n; {
		var events []byte
		var err error
		events, seq, err = r.Snapshot(within(t))
		require.NoError(t, err)
		if !bytes.Equal(bytes.Join(all[:seq], []byte{'\n'}), bytes.TrimSuffix(events, []byte{'\n'})) {
			require.Equal(t, seq, bytes.Count(events, []byte("CUSTOM")), "not the events up to seq")
		}
	}
}

// A run that was taken over is snapshotted whole.
func TestSnapshotAfterATakeover(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	a, b := newProcess(t, s, producer.Config{}), newProcess(t, s, producer.Config{})
	r := a.start(t, "c")
	var all [][]byte
	for i := 1; i <= 1300; i++ {
		_, err := r.Publish(within(t), mixed(i))
		require.NoError(t, err)
		all = append(all, mixed(i))
	}
	_, err := r.Flush(within(t))
	require.NoError(t, err)
	next, err := b.Resume(within(t), r.ID())
	require.NoError(t, err)
	events, seq, err := next.Snapshot(within(t))
	require.NoError(t, err)
	require.EqualValues(t, 1300, seq)
	require.Equal(t, folded(t, bytes.Join(all, []byte{'\n'})), folded(t, events))
}
