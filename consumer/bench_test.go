package consumer_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
)

// long is a run of n events of 200 bytes that are one open message, published and
// checkpointed as at a token's pace.
func (f *fabric) long(n int) *run {
	f.t.Helper()
	r := f.start("c", 1)
	for seq := range n {
		head := fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"%d `, seq)
		r.event(head + strings.Repeat("x", 200-len(head)-len(`"}`)) + `"}`)
		if r.seq%subjects.SegmentEvents == 0 {
			r.checkpoint()
		}
	}
	return r
}

// times reports the median and the 99th percentile of what one measures, in ms.
type times []time.Duration

func (ts times) report(b *testing.B) {
	b.Helper()
	slices.Sort(ts)
	b.ReportMetric(0, "ns/op") // it says nothing that the next two do not
	b.ReportMetric(ts[len(ts)/2].Seconds()*1e3, "p50-ms")
	b.ReportMetric(ts[len(ts)*99/100].Seconds()*1e3, "p99-ms")
}

// attach measures attaching until the first n frames are there.
func attach(b *testing.B, r *run, opt consumer.ReadOptions, frames int) {
	b.Helper()
	e, err := r.f.store.Entry(b.Context(), r.entry.RunID)
	require.NoError(b, err)
	var all times
	b.ReportAllocs()
	for b.Loop() {
		from := time.Now()
		reader, err := r.f.hub.Open(b.Context(), e, opt)
		require.NoError(b, err)
		for range frames {
			_, ok, err := reader.Poll(b.Context())
			require.NoError(b, err)
			require.True(b, ok)
		}
		all = append(all, time.Since(from))
		reader.Close()
	}
	all.report(b)
}

// nothing keeps nothing in memory: every observer is the first.
var nothing = consumer.HubConfig{Linger: -1}

func BenchmarkColdAttach10k200B(b *testing.B) {
	r := newFabric(b, nothing).long(10_000)
	attach(b, r, consumer.ReadOptions{}, 1)
}

func BenchmarkColdAttach10k200BAgain(b *testing.B) {
	r := newFabric(b, consumer.HubConfig{}).long(10_000)
	attach(b, r, consumer.ReadOptions{}, 1)
}

func BenchmarkAttach100Back(b *testing.B) {
	r := newFabric(b, nothing).long(10_000)
	attach(b, r, r.cursor(r.seq-100), 100)
}

func BenchmarkAttach100BackAgain(b *testing.B) {
	r := newFabric(b, consumer.HubConfig{}).long(10_000)
	attach(b, r, r.cursor(r.seq-100), 100)
}

// BenchmarkLiveFanOut1000 measures from publishing an event until the last of 1,000
// observers of one run has it.
func BenchmarkLiveFanOut1000(b *testing.B) {
	f := newFabric(b, consumer.HubConfig{})
	r := f.long(1)
	const observers = 1000
	var here, done sync.WaitGroup
	for range observers {
		reader := r.open(r.cursor(1))
		done.Go(func() {
			for {
				f, err := reader.Next(b.Context())
				if err != nil || f.Type == consumer.End {
					return
				}
				here.Done()
			}
		})
	}
	var all times
	for b.Loop() {
		here.Add(observers)
		from := time.Now()
		r.publish(1)
		here.Wait()
		all = append(all, time.Since(from))
	}
	r.finish(subjects.End{Reason: subjects.ReasonDone})
	done.Wait()
	all.report(b)
}
