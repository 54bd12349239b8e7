package producer_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/producer"
)

// A writer that never pauses cannot keep its run from being superseded.
func TestSEND02AHotWriterIsSuperseded(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	a, b := newProcess(t, s, producer.Config{}), newProcess(t, s, producer.Config{})
	for range 5 {
		r := a.start(t, "c")
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := 0; ; i++ {
				if _, err := r.Publish(within(t), text(i)); err != nil {
					return
				}
			}
		})
		require.Eventually(t, func() bool { return r.StoredSeq() > 1000 }, patience, time.Millisecond)
		b.start(t, "c")
		select {
		case <-r.Done():
		case <-time.After(patience):
			t.Fatal("still writing")
		}
		wg.Wait()
		require.ErrorIs(t, r.Err(), producer.ErrSuperseded)
	}
}
