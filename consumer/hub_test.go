package consumer_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/subjects"
)

// Observers that come back at once, often as the last one has just left, miss nothing,
// and nothing of them stays.
func TestSLOW03_ObserversThatComeAndGo(t *testing.T) {
	t.Parallel()
	var tails atomic.Int64
	f := newFabric(t, consumer.HubConfig{Metrics: consumer.HubMetrics{Tails: func(n int) { tails.Add(int64(n)) }}})
	r := f.start("c", 1)
	r.publish(1)
	subs := f.store.Conn().NumSubscriptions()
	ended := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			o := &observer{t: t}
			for o.end == nil {
				reader, err := f.hub.Open(t.Context(), r.entry, r.cursor(o.seq))
				if err != nil {
					t.Error(err)
					return
				}
				for range rand.N(20) {
					if f, ok, err := reader.Poll(t.Context()); ok {
						o.apply(f)
					} else if err != nil {
						break
					}
				}
				reader.Close()
				reader.Close()
			}
			if o.text != r.text(o.seq) || o.snapshots > 0 {
				t.Errorf("%d events and %d snapshots are not what was published", o.seq, o.snapshots)
			}
		})
	}
	go func() { wg.Wait(); close(ended) }()
	for range 300 {
		r.publish(1 + rand.N(3))
	}
	r.finish(subjects.End{Reason: subjects.ReasonDone})
	<-ended
	require.Zero(t, tails.Load())
	require.Equal(t, subs, f.store.Conn().NumSubscriptions())
}

// Runs in several partitions of a broker that takes only small messages: events and
// segments in parts, read live, from every cursor and as snapshots.
func TestSmallMessagesAndManyPartitions(t *testing.T) {
	t.Parallel()
	const payload = 64 << 10
	f := newFabricOn(t, natsd.Config{MaxPayload: payload}, 3, consumer.HubConfig{})
	large := strings.Repeat("x", 100<<10)
	for i := range 3 {
		r := f.start(fmt.Sprint("chat", i), 1)
		live := r.open(consumer.ReadOptions{})
		for seq := range uint64(4) {
			r.publish(1)
			event := `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"` + fmt.Sprint(seq) + large + `"}`
			r.parts(event, payload-subjects.HeaderRoom)
			if seq%2 == 1 {
				r.checkpoint()
			}
		}
		r.finish(subjects.End{Reason: subjects.ReasonDone})
		var want observer
		want.t = t
		for _, event := range r.all {
			want.add([]byte(event))
		}
		for after := range r.seq + 1 {
			o := &observer{t: t, seq: after}
			for _, event := range r.all[:after] {
				o.add([]byte(event))
			}
			o.toEnd(r.open(r.cursor(after)))
			require.True(t, want.text == o.text, "run %d from %d", i, after)
			require.Zero(t, o.snapshots)
		}
		for _, reader := range []*consumer.Reader{live, r.open(consumer.ReadOptions{})} {
			o := &observer{t: t}
			o.toEnd(reader)
			require.True(t, want.text == o.text, "run %d", i)
		}
	}
}
