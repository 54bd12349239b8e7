package producer_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
	tcp "github.com/rejoin/rejoin/test/proxy"
)

// flight is a run whose records can be kept on their way, and one who sees what is stored.
type flight struct {
	*testing.T
	px     *tcp.Proxy
	p      *process
	direct *process
	run    *producer.Run
	want   [][]byte
}

func newFlight(t *testing.T) *flight {
	t.Helper()
	s := broker(t, natsd.Config{Listen: "127.0.0.1:0"})
	px, err := tcp.Start(strings.TrimPrefix(s.ClientURL(), "nats://"))
	require.NoError(t, err)
	t.Cleanup(px.Close)
	nc, err := nats.Connect("nats://"+px.Addr(), nats.MaxReconnects(-1), nats.ReconnectWait(5*time.Millisecond),
		nats.Timeout(patience))
	require.NoError(t, err)
	f := &flight{T: t, px: px, p: newProcessOn(t, nc, producer.Config{}), direct: newProcess(t, s, producer.Config{})}
	f.run = f.p.start(t, "c")
	return f
}

// publish publishes so many events more.
func (f *flight) publish(n int) {
	f.Helper()
	for range n {
		e := custom(len(f.want) + 1)
		_, err := f.run.Publish(within(f), e)
		require.NoError(f, err)
		f.want = append(f.want, e)
	}
}

// stored waits until the broker has stored so many events, whatever the producer knows of it.
func (f *flight) stored(n int) {
	f.Helper()
	require.Eventually(f, func() bool {
		last, err := f.direct.store.Last(within(f), f.run.ID())
		return err == nil && last.Last == uint64(n)
	}, patience, time.Millisecond)
}

// whole checks that the log holds what was published, once and in order.
func (f *flight) whole() *subjects.End {
	f.Helper()
	got, end := f.direct.events(f, f.run.ID())
	require.Equal(f, f.want, got)
	return end
}

func (f *flight) flush() {
	f.Helper()
	stored, err := f.run.Flush(within(f))
	require.NoError(f, err)
	require.EqualValues(f, len(f.want), stored)
}

func TestTheAckIsLostWhileTheNextRecordGathers(t *testing.T) {
	t.Parallel()
	f := newFlight(t)
	for range 5 {
		release := f.px.Hold(tcp.Down)
		f.publish(1)
		f.stored(len(f.want))
		f.publish(3)
		require.EqualValues(t, len(f.want)-4, f.run.StoredSeq(), "one at a time")
		f.px.Cut()
		release()
		f.flush()
		f.publish(1) // the plain way goes on
		f.flush()
	}
	f.whole()
}

func TestARecordNeverArrivesWhileTheNextGathers(t *testing.T) {
	t.Parallel()
	f := newFlight(t)
	for range 5 {
		sent := f.p.nc.Stats().OutMsgs
		release := f.px.Hold(tcp.Up)
		f.publish(1)
		require.Eventually(t, func() bool { return f.p.nc.Stats().OutMsgs > sent }, patience, time.Millisecond)
		f.publish(3)
		f.px.Cut()
		f.publish(1) // nothing goes out without a connection
		release()
		f.flush()
	}
	f.whole()
}

// Whoever gives a run up while a record is on its way waits for that and for what gathered.
func TestARunIsGivenUpWithARecordOnItsWay(t *testing.T) {
	t.Parallel()
	for name, giveUp := range map[string]func(*flight) error{
		"finish": func(f *flight) error {
			_, err := f.run.Finish(within(f), producer.FinishOptions{Persisted: true})
			return err
		},
		"close":   func(f *flight) error { return f.run.Close() },
		"release": func(f *flight) error { return f.run.Release(within(f)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFlight(t)
			f.publish(1)
			f.flush()
			release := f.px.Hold(tcp.Down)
			f.publish(1)
			f.stored(2)
			f.publish(2)
			over := make(chan error, 1)
			go func() { over <- giveUp(f) }()
			<-f.run.Done()
			_, err := f.run.Publish(within(t), custom(9))
			require.ErrorIs(t, err, producer.ErrClosed)
			release()
			require.NoError(t, <-over)
			end := f.whole()
			require.Equal(t, name != "release", end != nil)
		})
	}
}

// No answer comes at all: the run is given up in bounded time, and has its end once there is
// an answer.
func TestARunIsClosedWithoutAnAck(t *testing.T) {
	t.Parallel()
	f := newFlight(t)
	release := f.px.Hold(tcp.Down)
	f.publish(1)
	f.stored(1)
	f.publish(1)
	require.Error(t, f.run.Close())
	f.want = f.want[:1]
	release()
	require.NoError(t, f.p.Close(within(t)))
	require.Equal(t, subjects.ReasonAbandoned, f.whole().Reason)
}

func TestTheRunIsTakenWithARecordOnItsWay(t *testing.T) {
	t.Parallel()
	f := newFlight(t)
	f.publish(1)
	f.flush()
	sent := f.p.nc.Stats().OutMsgs
	release := f.px.Hold(tcp.Up)
	f.publish(1)
	require.Eventually(t, func() bool { return f.p.nc.Stats().OutMsgs > sent }, patience, time.Millisecond)
	f.publish(2)
	next, err := f.direct.Resume(within(t), f.run.ID())
	require.NoError(t, err)
	release()
	_, err = f.run.Flush(within(t))
	require.ErrorIs(t, err, producer.ErrFenced)
	require.EqualValues(t, 1, f.run.StoredSeq())
	require.NoError(t, f.run.Close())

	f.run, f.want = next, f.want[:1]
	f.publish(1)
	f.flush()
	f.whole()
}

// What is held waits behind a record on its way too, and is stored together.
func TestHoldWhileARecordIsOnItsWay(t *testing.T) {
	t.Parallel()
	f := newFlight(t)
	held := f.px.Hold(tcp.Down)
	f.publish(1)
	f.stored(1)
	together := f.run.Hold(time.Hour)
	f.publish(1)
	held()
	require.Eventually(t, func() bool { return f.run.StoredSeq() == 1 }, patience, time.Millisecond)
	f.publish(2)
	require.EqualValues(t, 1, f.run.StoredSeq())
	together()
	f.flush()
	f.run.Hold(time.Millisecond) // nobody releases it
	f.publish(1)
	f.flush()
	f.whole()
	page, err := f.direct.store.Page(within(t), f.run.ID(), 0)
	require.NoError(t, err)
	require.Len(t, page, 4, "start, 1, 2 to 4, 5")
	require.Equal(t, 3, page[2].Count)
}

// The memory of a record is used for the next one, and what is kept of it for segments is not
// touched by that.
func TestSmallRecordsAreKeptForSegments(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	p := newProcess(t, s, producer.Config{})
	r := p.start(t, "c")
	var want [][]byte
	for i := range subjects.SegmentEvents + subjects.SegmentEvents/2 {
		e := custom(i)
		if i%50 == 0 {
			e = bytes.Replace(e, []byte(`"n"`), []byte(`"`+strings.Repeat("n", 2000)+`"`), 1)
		}
		_, err := r.Publish(within(t), e)
		require.NoError(t, err)
		want = append(want, e)
		if i%7 > 0 {
			_, err = r.Flush(within(t))
			require.NoError(t, err)
		}
	}
	_, err := r.Flush(within(t))
	require.NoError(t, err)
	snapshot, seq, err := r.Snapshot(within(t))
	require.NoError(t, err)
	require.EqualValues(t, len(want), seq)
	require.Equal(t, string(bytes.Join(want, []byte{'\n'})), string(bytes.TrimSuffix(snapshot, []byte{'\n'})))
	_, err = r.Finish(within(t), producer.FinishOptions{})
	require.NoError(t, err)
	var got []byte
	for seg, err := range p.store.Segments(within(t), r.ID(), 0) {
		require.NoError(t, err)
		got = append(append(got, bytes.TrimSuffix(seg.Events, []byte{'\n'})...), '\n')
	}
	require.Equal(t, string(bytes.Join(want, []byte{'\n'})), string(bytes.TrimSuffix(got, []byte{'\n'})))
}
