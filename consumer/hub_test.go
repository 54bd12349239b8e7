package consumer_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
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
	f := newFabric(t, consumer.HubConfig{Linger: 10 * time.Millisecond,
		Metrics: consumer.HubMetrics{Tails: func(n int) { tails.Add(int64(n)) }}})
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
	require.Eventually(t, func() bool { return f.store.Conn().NumSubscriptions() == subs }, patience, time.Millisecond)
}

// Why a reader gets a snapshot, and that it gets none where its cursor is good.
func TestCausesOfSnapshots(t *testing.T) {
	t.Parallel()
	causes := make(chan string, 1)
	f := newFabric(t, consumer.HubConfig{GapThreshold: 10,
		Metrics: consumer.HubMetrics{Snapshot: func(cause string) { causes <- cause }}})
	f.keep(4)
	r := f.start("c", 1)
	for range 30 {
		r.publish(1)
	}
	r.checkpoint()
	other := f.store.NewRunID()
	for _, c := range []struct {
		opt  consumer.ReadOptions
		want string // "" for none
	}{
		{consumer.ReadOptions{}, "attach"},
		{consumer.ReadOptions{Cursor: &consumer.Cursor{RunID: other, AfterSeq: 28}}, "replaced"},
		{r.cursor(31), "ahead"},
		{r.cursor(0), "window"},
		{r.cursor(19), "window"}, // too far
		{r.cursor(25), "window"}, // no longer there
		{r.cursor(26), ""},
		{r.cursor(30), ""},
	} {
		o := &observer{t: t}
		if c.want == "" {
			o.seq, o.text = c.opt.Cursor.AfterSeq, r.text(c.opt.Cursor.AfterSeq)
		}
		reader := r.open(c.opt)
		o.poll(reader)
		reader.Close()
		require.Equal(t, r.text(30), o.text, c)
		if c.want != "" {
			require.Equal(t, c.want, <-causes)
		}
		require.Empty(t, causes)
	}
}

// Nobody asks how far a run has come that has its end.
func TestEndedRunIsNotAskedFor(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{Silence: time.Millisecond})
	ended, quiet := f.start("ended", 1), f.start("quiet", 1)
	ended.finish(subjects.End{Reason: subjects.ReasonDone})
	var askedEnded, askedQuiet atomic.Int64
	nc, err := f.server.Connect()
	require.NoError(t, err)
	defer nc.Close()
	_, err = nc.Subscribe("$JS.API.STREAM.MSG.GET."+subjects.RunsStream(0), func(m *nats.Msg) {
		if strings.Contains(string(m.Data), string(ended.entry.RunID)) {
			askedEnded.Add(1)
		} else {
			askedQuiet.Add(1)
		}
	})
	require.NoError(t, err)
	require.NoError(t, nc.Flush())
	ended.open(consumer.ReadOptions{})
	quiet.open(consumer.ReadOptions{})
	require.Eventually(t, func() bool { return askedQuiet.Load() > 10 }, patience, time.Millisecond)
	require.EqualValues(t, 1, askedEnded.Load(), "when its reader attached")
}

// A reader that has everything learns that the broker is away, and goes on when it is back.
func TestReaderLearnsThatTheBrokerIsAway(t *testing.T) {
	t.Parallel()
	f := newFabricOn(t, natsd.Config{Listen: "127.0.0.1:0", StoreDir: t.TempDir()}, 1, consumer.HubConfig{})
	r := f.start("c", 1)
	r.publish(1)
	reader := r.open(consumer.ReadOptions{})
	o := &observer{t: t}
	o.until(reader, 1)
	f.server.Stop()
	o.refused(reader)
	require.NotNil(t, reader.Changed())
	require.NoError(t, f.server.Restart())
	<-reader.Changed() // it answers again
	r.publish(1)
	o.until(reader, 2)
	require.Equal(t, r.text(2), o.text)
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
