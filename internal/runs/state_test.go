package runs_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

func TestOpenNeedsProvisionedStreams(t *testing.T) {
	t.Parallel()
	server, err := natsd.Start(natsd.Config{})
	require.NoError(t, err)
	defer server.Shutdown()
	nc, err := server.Connect()
	require.NoError(t, err)
	defer nc.Close()
	_, err = runs.Open(t.Context(), nc, runs.Config{})
	require.ErrorIs(t, err, runs.ErrNotProvisioned)
	_, err = runs.Open(t.Context(), nc, runs.Config{Partitions: 257, Provision: true})
	require.ErrorContains(t, err, "256")

	small, err := natsd.Start(natsd.Config{MaxPayload: 4096})
	require.NoError(t, err)
	defer small.Shutdown()
	narrow, err := small.Connect()
	require.NoError(t, err)
	defer narrow.Close()
	_, err = runs.Open(t.Context(), narrow, runs.Config{Provision: true})
	require.ErrorContains(t, err, "max_payload")

	// Partitions can be added later, never taken away.
	for asked, want := range [][2]int{{0, subjects.Partitions}, {6, 6}, {2, 6}} {
		s, err := runs.Open(t.Context(), nc, runs.Config{Partitions: want[0], Provision: true})
		require.NoError(t, err)
		require.Equal(t, want[1], s.Partitions(), asked)
		require.NoError(t, s.Ping(t.Context()))
		s.Close()
	}
}

func TestPointerMovesByCompareAndSet(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	for round := range uint64(3) {
		var wins, losses atomic.Int32
		var wg sync.WaitGroup
		base, err := f.store.Pointer(t.Context(), "t", "chat")
		require.NoError(t, err)
		require.Equal(t, round, base.Generation)
		for range 20 {
			p := *base
			wg.Go(func() {
				p.Advance(f.store.NewRunID(), round+1, "")
				switch err := f.store.SetPointer(t.Context(), &p); {
				case err == nil:
					wins.Add(1)
				case errors.Is(err, runs.ErrConflict):
					losses.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, 1, wins.Load())
		require.EqualValues(t, 19, losses.Load())
	}
}

func TestPointerRemembersTokensWithinBounds(t *testing.T) {
	t.Parallel()
	var p runs.Pointer
	ids := map[string]subjects.RunID{}
	for i := range 40 {
		token := fmt.Sprint("token", i)
		ids[token] = subjects.NewRunID(0)
		p.Advance(ids[token], uint64(i), token)
	}
	got, ok := p.Started("token39")
	require.True(t, ok)
	require.Equal(t, ids["token39"], got)
	_, ok = p.Started("token0")
	require.False(t, ok)
	_, ok = p.Started("")
	require.False(t, ok)
	require.Len(t, p.Starts, 16)
}

// A watcher is woken after the change can be read, and only by its own chat.
func TestWatchPointerWakes(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	woken := make(chan uint64, 8)
	stop, err := f.store.WatchPointer("", "c", func() {
		// Reading here would block the connection; the test reads below.
		woken <- 1
	})
	require.NoError(t, err)
	f.start("other", 1, "p")
	e := f.start("c", 1, "p")
	select {
	case <-woken:
	case <-time.After(patience):
		t.Fatal("not woken")
	}
	p, err := f.store.Pointer(t.Context(), "", "c")
	require.NoError(t, err)
	require.Equal(t, e.RunID, p.RunID)
	stop()
	f.start("c", 2, "p")
	require.NoError(t, f.store.Ping(t.Context())) // what was sent before has arrived
	require.Empty(t, woken)
}

func TestEntryChangesOneAtATime(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	e := f.start("c", 1, "p")
	stale := *e
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			_, err := f.store.ChangeEntry(t.Context(), e.RunID, func(e *runs.Entry) error {
				e.Segments++
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, 20, f.entry(e.RunID).Segments)
	stale.Segments = 99
	require.ErrorIs(t, f.store.UpdateEntry(t.Context(), &stale), runs.ErrConflict)
	require.ErrorIs(t, f.store.CreateEntry(t.Context(), &stale), runs.ErrConflict)
	_, err := f.store.Entry(t.Context(), f.store.NewRunID())
	require.ErrorIs(t, err, runs.ErrNotFound)
}

// The largest entry and the largest pointer fit into the smallest message.
func TestEntryAndPointerFitIntoAMessage(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{MaxPayload: 32 << 10})
	longest := strings.Repeat("\x01", subjects.MaxOutside)
	realm, err := subjects.NewRealm(longest, longest)
	require.NoError(t, err)
	e := &runs.Entry{RunID: f.store.NewRunID(), Realm: realm, ChatID: longest, Owner: longest}
	for seq := uint64(subjects.MaxSeq) - 100_000; seq < subjects.MaxSeq; seq += 128 {
		e.AddMark(runs.Mark{Seq: seq, StreamSeq: seq})
	}
	require.NoError(t, f.store.CreateEntry(t.Context(), e))
	p, err := f.store.Pointer(t.Context(), realm, longest)
	require.NoError(t, err)
	for i := range 20 {
		p.Advance(e.RunID, uint64(i), fmt.Sprint(i)+longest[:126])
	}
	require.NoError(t, f.store.SetPointer(t.Context(), p))
}

func TestMarksSpanTheReplayWindow(t *testing.T) {
	t.Parallel()
	e := runs.Entry{FirstStreamSeq: 7}
	require.Equal(t, runs.Mark{StreamSeq: 7}, e.ReplayFrom(1<<40))
	for seq := uint64(10); seq <= 100_000; seq += 10 {
		e.AddMark(runs.Mark{Seq: seq, StreamSeq: seq * 3})
	}
	require.LessOrEqual(t, len(e.Marks), 48)
	newest := e.Marks[len(e.Marks)-1].Seq
	require.LessOrEqual(t, e.Marks[0].Seq, newest-subjects.GapThreshold)
	for after := newest - subjects.GapThreshold; after <= newest; after++ {
		from := e.ReplayFrom(after)
		require.Equal(t, 3*from.Seq, from.StreamSeq)
		require.LessOrEqual(t, from.Seq, after)
		require.Greater(t, from.Seq+140, after)
	}
}

func TestSegmentsAreStoredOnceAndReadInOrder(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{MaxPayload: 64 << 10})
	id := f.store.NewRunID()
	var want [][]byte
	for n := range 40 { // more than a page
		body := bytes.Repeat([]byte{byte('a' + n%26)}, 5*n)
		if n%10 == 3 {
			body = bytes.Repeat(body, 10_000) // more than a message
		}
		want = append(want, body)
		seg := subjects.Segment{From: uint64(n + 1), To: uint64(n + 1), StreamSeq: uint64(n + 5), Writer: "w"}
		require.NoError(t, f.store.CreateSegment(t.Context(), id, n, seg, body))
		seg.Writer = "zombie"
		require.ErrorIs(t, f.store.CreateSegment(t.Context(), id, n, seg, []byte("other")), runs.ErrConflict)
	}
	for _, known := range []int{0, 1, 15, 16, 17, 39, 40, 41} {
		var got [][]byte
		for seg, err := range f.store.Segments(t.Context(), id, known) {
			require.NoError(t, err)
			require.Equal(t, len(got), seg.N)
			require.Equal(t, uint64(seg.N+5), seg.StreamSeq)
			got = append(got, seg.Events)
		}
		require.Equal(t, want, got, "known %d", known)
	}
	_, err := f.store.Segment(t.Context(), id, 40)
	require.ErrorIs(t, err, runs.ErrNotFound)
}

func TestLeaseIsHeldRenewedAndGivenUp(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{Listen: "127.0.0.1:0", StoreDir: t.TempDir()})
	l := f.store.NewLease(time.Second)
	require.False(t, l.Held())
	alive := func() bool {
		ok, err := f.store.ProducerAlive(t.Context(), l.ID())
		return err == nil && ok
	}
	require.False(t, alive())
	require.NoError(t, l.Renew(t.Context()))
	require.True(t, l.Held())
	require.True(t, alive())
	require.Eventually(t, func() bool { return !alive() && !l.Held() }, patience, 20*time.Millisecond, "it runs out by itself")

	renewed := make(chan error, 1000)
	done := make(chan struct{})
	stop := make(chan struct{})
	go func() {
		defer close(done)
		ctx, cancel := contextUntil(stop)
		defer cancel()
		l.Run(ctx, func(err error) { renewed <- err })
	}()
	require.NoError(t, <-renewed)
	require.True(t, alive())
	require.NoError(t, f.server.Restart())
	require.Eventually(t, alive, patience, 20*time.Millisecond)
	close(stop)
	<-done
	require.False(t, l.Held())
	require.False(t, alive())
}

func TestMemoryOfAChat(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	ctx := t.Context()
	got, err := f.store.Memory(ctx, "t", "c")
	require.NoError(t, err)
	require.Nil(t, got)
	require.NoError(t, f.store.SetMemory(ctx, "t", "c", []byte("one")))
	require.NoError(t, f.store.SetMemory(ctx, "t", "c", []byte("two")))
	require.NoError(t, f.store.SetMemory(ctx, "t", "d", []byte("other")))
	got, err = f.store.Memory(ctx, "t", "c")
	require.NoError(t, err)
	require.Equal(t, "two", string(got))
	require.ErrorIs(t, f.store.SetMemory(ctx, "t", "c", make([]byte, subjects.MaxMemory+1)), runs.ErrTooLarge)
}
