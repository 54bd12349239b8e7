package producer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
)

func TestStartOptionsAreChecked(t *testing.T) {
	t.Parallel()
	p := newProcess(t, broker(t, natsd.Config{}), producer.Config{})
	long := strings.Repeat("x", 257)
	for name, tc := range map[string]struct {
		o     producer.StartOptions
		names string
	}{
		"no chat":        {producer.StartOptions{}, "chat_id"},
		"chat too long":  {producer.StartOptions{ChatID: long}, "chat_id"},
		"chat no UTF-8":  {producer.StartOptions{ChatID: "\xff"}, "chat_id"},
		"no realm":       {producer.StartOptions{ChatID: "c", Realm: "*"}, "realm"},
		"owner too long": {producer.StartOptions{ChatID: "c", Owner: long}, "owner"},
		"owner no UTF-8": {producer.StartOptions{ChatID: "c", Owner: "\xff"}, "owner"},
		"kind too long":  {producer.StartOptions{ChatID: "c", Kind: long}, "kind"},
		"token too long": {producer.StartOptions{ChatID: "c", ClientToken: long[:129]}, "client_token"},
		"on_active":      {producer.StartOptions{ChatID: "c", OnActive: "queue"}, "on_active"},
	} {
		_, err := p.Start(within(t), tc.o)
		require.ErrorIs(t, err, producer.ErrOptions, name)
		require.ErrorContains(t, err, tc.names, name)
	}
}

// Twenty starts at once in one chat: one pointer, and every other run is superseded.
func TestSEND02TwentyStartsAtOnce(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	procs := []*process{newProcess(t, s, producer.Config{}), newProcess(t, s, producer.Config{})}
	started := make([]*producer.Run, 20)
	var wg sync.WaitGroup
	for i := range started {
		wg.Go(func() {
			r, err := procs[i%2].Start(within(t), producer.StartOptions{ChatID: "c"})
			if err != nil {
				t.Error(err)
				return
			}
			started[i] = r
		})
	}
	wg.Wait()
	pointer, err := procs[0].store.Pointer(within(t), "", "c")
	require.NoError(t, err)
	require.EqualValues(t, 20, pointer.Generation)
	generations := map[uint64]subjects.RunID{}
	for _, r := range started {
		e, err := procs[0].store.Entry(within(t), r.ID())
		require.NoError(t, err)
		generations[e.Generation] = r.ID()
		if r.ID() == pointer.RunID {
			require.True(t, e.Active())
			_, err = r.Publish(within(t), text(1))
			require.NoError(t, err)
			_, err = r.Flush(within(t))
			require.NoError(t, err)
			continue
		}
		require.NotNil(t, e.End)
		require.True(t, e.End.Superseded)
		// It has nothing to say any more.
		if _, err = r.Publish(within(t), text(1)); err == nil {
			_, err = r.Flush(within(t))
		}
		require.ErrorIs(t, err, producer.ErrSuperseded)
		require.ErrorIs(t, err, producer.ErrFenced)
		got, end := procs[0].events(t, r.ID())
		require.Empty(t, got)
		require.Equal(t, e.End, end)
	}
	require.Len(t, generations, 20, "each has a place of its own")
	for g := uint64(1); g < 20; g++ {
		e, err := procs[0].store.Entry(within(t), generations[g])
		require.NoError(t, err)
		require.Equal(t, generations[g+1], e.End.NextRunID, "each names the one that replaced it")
	}
}

func TestSEND01TwentyStartsThatReject(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	procs := []*process{newProcess(t, s, producer.Config{}), newProcess(t, s, producer.Config{})}
	var mu sync.Mutex
	var won []*producer.Run
	lost := map[subjects.RunID]int{}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			r, err := procs[i%2].Start(within(t), producer.StartOptions{ChatID: "c", OnActive: producer.Reject})
			mu.Lock()
			defer mu.Unlock()
			var active *producer.AlreadyStreamingError
			switch {
			case err == nil:
				won = append(won, r)
			case errors.As(err, &active):
				lost[active.RunID]++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Len(t, won, 1)
	require.Equal(t, map[subjects.RunID]int{won[0].ID(): 19}, lost, "every loser is told who won")
	require.Equal(t, []subjects.RunID{won[0].ID()}, procs[0].entries(t), "and leaves nothing behind")

	// Its end frees the chat, the moment it is stored.
	_, err := won[0].Finish(within(t), producer.FinishOptions{})
	require.NoError(t, err)
	_, err = procs[1].Start(within(t), producer.StartOptions{ChatID: "c", OnActive: producer.Reject})
	require.NoError(t, err)
}

func TestSEND01TheSameTokenStartsOnce(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	procs := []*process{newProcess(t, s, producer.Config{}), newProcess(t, s, producer.Config{})}
	var mu sync.Mutex
	ids := map[subjects.RunID]int{}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			r, err := procs[i%2].Start(within(t), producer.StartOptions{ChatID: "c", ClientToken: "t"})
			mu.Lock()
			defer mu.Unlock()
			var before *producer.AlreadyStartedError
			switch {
			case err == nil:
				ids[r.ID()]++
			case errors.As(err, &before):
				ids[before.RunID]++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Len(t, ids, 1)
	require.Len(t, procs[0].entries(t), 1)
}

// r1 to r20, each superseding the one before, all of them publishing on.
func TestSEND02AChainOfTwenty(t *testing.T) {
	t.Parallel()
	p := newProcess(t, broker(t, natsd.Config{}), producer.Config{})
	ctx, stop := context.WithCancel(within(t))
	defer stop()
	var chain []*producer.Run
	var wg sync.WaitGroup
	for range 20 {
		r := p.start(t, "c")
		chain = append(chain, r)
		wg.Go(func() { // it goes on until it is told
			for i := 1; ; i++ {
				if _, err := r.Publish(ctx, text(i)); err != nil {
					return
				}
				if _, err := r.Flush(ctx); err != nil {
					return
				}
			}
		})
	}
	for i, r := range chain[:19] {
		end, err := r.Finish(within(t), producer.FinishOptions{Persisted: true})
		if err != nil { // nil where the newer run had no time to end this one
			require.ErrorIs(t, err, producer.ErrSuperseded, i)
		}
		require.Equal(t, subjects.End{Superseded: true, Reason: subjects.ReasonSuperseded, NextRunID: chain[i+1].ID()}, end)
		_, logged := p.events(t, r.ID())
		require.Equal(t, &end, logged)
	}
	stop()
	wg.Wait()
	end, err := chain[19].Finish(within(t), producer.FinishOptions{Persisted: true})
	require.NoError(t, err)
	require.False(t, end.Superseded)
}

// A run id is the fabric's to give: whoever comes back with one meets its end.
func TestSEND03AnEndedRunIsNotStartedAgain(t *testing.T) {
	t.Parallel()
	p := newProcess(t, broker(t, natsd.Config{}), producer.Config{})
	r := p.start(t, "c")
	_, err := r.Finish(within(t), producer.FinishOptions{Persisted: true})
	require.NoError(t, err)
	_, err = p.Resume(within(t), r.ID())
	var ended *producer.EndedError
	require.ErrorAs(t, err, &ended)
	require.True(t, ended.End.Persisted)

	require.NoError(t, p.store.Evict(within(t), r.ID()))
	_, err = p.Resume(within(t), r.ID())
	require.ErrorIs(t, err, producer.ErrNotFound)
	_, err = p.Resume(within(t), subjects.NewRunID(0))
	require.ErrorIs(t, err, producer.ErrNotFound)
	_, err = p.Resume(within(t), "no id")
	require.ErrorIs(t, err, producer.ErrNotFound)
	next := p.start(t, "c")
	require.NotEqual(t, r.ID(), next.ID())
}

func TestStartThatIsCancelledLeavesNoActiveRun(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	p := newProcess(t, s, producer.Config{})
	s.Stop()
	ctx, cancel := context.WithCancel(within(t))
	cancel()
	_, err := p.Start(ctx, producer.StartOptions{ChatID: "c"})
	require.Error(t, err)
	require.NoError(t, s.Restart())
	_, err = p.Start(within(t), producer.StartOptions{ChatID: "c", OnActive: producer.Reject})
	require.NoError(t, err)
}

// Starts are given up at any moment, and connections break under them: what remains active
// is what somebody holds.
func TestStartsThatFailLeaveNoActiveRun(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{Listen: "127.0.0.1:0"})
	px := newProxy(t, s)
	nc, err := nats.Connect(px.url(), nats.MaxReconnects(-1), nats.ReconnectWait(time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	p := newProcessOn(t, nc, producer.Config{Logger: quiet(), Lease: time.Second})
	sweeping, stop := context.WithCancel(within(t))
	var janitor sync.WaitGroup
	janitor.Go(func() {
		runs.NewJanitor(p.store, runs.JanitorConfig{Interval: 50 * time.Millisecond}).Run(sweeping)
	})
	t.Cleanup(func() {
		stop()
		janitor.Wait()
	})
	held := map[subjects.RunID]bool{}
	failed := 0
	for i := range 100 {
		ctx, cancel := context.WithTimeout(within(t), time.Duration(rand.IntN(i+1))*time.Millisecond)
		if i%4 == 0 {
			px.lose()
		}
		r, err := p.Start(ctx, producer.StartOptions{ChatID: "c"})
		cancel()
		if i%4 == 0 {
			px.cut()
		}
		if err == nil {
			held[r.ID()] = true
		} else {
			failed++
		}
	}
	require.Positive(t, failed)
	require.NotEmpty(t, held)
	var left []string // what is active that should not be
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		left = nil
		pointer, err := p.store.Pointer(within(t), "", "c")
		require.NoError(t, err)
		for _, id := range p.entries(t) {
			e, err := p.store.Entry(within(t), id)
			if err == nil && e.Active() && (!held[id] || id != pointer.RunID) {
				last, err := p.store.Last(within(t), id)
				left = append(left, fmt.Sprintf("%+v held %t pointer %+v last %+v %v", e, held[id], pointer, last, err))
			}
		}
		if len(left) == 0 {
			return
		}
		require.True(t, time.Now().Before(deadline), "the janitor, which gives no signal, leaves %v", left)
	}
}

// A producer that only waits is told that its run was superseded in its own process.
func TestSEND02ASilentRunOfTheSameProcessIsTold(t *testing.T) {
	t.Parallel()
	p := newProcess(t, broker(t, natsd.Config{}), producer.Config{})
	r := p.start(t, "c")
	next := p.start(t, "c")
	<-r.Done()
	var ended *producer.EndedError
	require.ErrorAs(t, r.Err(), &ended)
	require.Equal(t, next.ID(), ended.End.NextRunID)
	require.NoError(t, next.Err())
}

// The process that started the newer run died before it ended the older one: the older
// run's own end says so.
func TestSEND02TheOlderRunSeesThePointer(t *testing.T) {
	t.Parallel()
	p := newProcess(t, broker(t, natsd.Config{}), producer.Config{})
	for i, end := range []func(*producer.Run) error{
		func(r *producer.Run) error {
			end, err := r.Finish(within(t), producer.FinishOptions{Persisted: true})
			require.True(t, end.Persisted, "the save is what it was")
			return err
		},
		func(r *producer.Run) error { return r.Close() },
	} {
		chat := string(rune('a' + i))
		r := p.start(t, chat)
		pointer, err := p.store.Pointer(within(t), "", chat)
		require.NoError(t, err)
		next := p.store.NewRunID()
		pointer.Advance(next, pointer.Generation+1, "")
		require.NoError(t, p.store.SetPointer(within(t), pointer))
		require.NoError(t, end(r))
		_, logged := p.events(t, r.ID())
		require.True(t, logged.Superseded)
		require.Equal(t, subjects.ReasonSuperseded, logged.Reason)
		require.Equal(t, next, logged.NextRunID)
	}
}

// What a start that was given up had sent may arrive after it was undone.
func TestTheEntryOfADiscardedRunCannotArriveLate(t *testing.T) {
	t.Parallel()
	p := newProcess(t, broker(t, natsd.Config{}), producer.Config{})
	id := p.store.NewRunID()
	require.NoError(t, p.store.Discard(within(t), id))
	late := &runs.Entry{RunID: id, ChatID: "c", State: runs.StateRunning, Producer: p.LeaseID()}
	require.ErrorIs(t, p.store.CreateEntry(within(t), late), runs.ErrConflict)
	require.NoError(t, p.store.Discard(within(t), id))
	_, err := p.store.Entry(within(t), id)
	require.ErrorIs(t, err, producer.ErrNotFound)
}
