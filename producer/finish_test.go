package producer_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
)

func TestTheEndTellsTheTruthAboutTheSave(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	p := newProcess(t, s, producer.Config{Logger: quiet()})
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	// What ended the run says more than that its save failed.
	failed := subjects.End{Reason: subjects.ReasonStopped}
	for name, tc := range map[string]struct {
		save func(context.Context) error
		want subjects.End
	}{
		"works":          {func(context.Context) error { return nil }, subjects.End{Persisted: true, Reason: subjects.ReasonStopped}},
		"is skipped":     {func(context.Context) error { return producer.ErrSkipped }, subjects.End{Reason: subjects.ReasonSkipped}},
		"fails":          {func(context.Context) error { return errors.New("no") }, failed},
		"panics":         {func(context.Context) error { panic("oh") }, failed},
		"takes too long": {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, failed},
		"hangs":          {func(context.Context) error { <-hang; return nil }, failed},
	} {
		t.Run(name, func(t *testing.T) {
			r := p.start(t, name)
			_, err := r.Publish(within(t), text(1))
			require.NoError(t, err)
			end, err := r.Finish(within(t), producer.FinishOptions{Reason: subjects.ReasonStopped, Persisted: true,
				SaveTimeout: 50 * time.Millisecond, Save: func(ctx context.Context) error {
					// Everything is stored before the save begins, and says so.
					e, err := p.store.Entry(ctx, r.ID())
					if err != nil || e.State != runs.StateFinishing || r.StoredSeq() != 1 {
						return errors.New("too early")
					}
					return tc.save(ctx)
				}})
			require.NoError(t, err)
			require.Equal(t, tc.want, end)
			_, logged := p.events(t, r.ID())
			require.Equal(t, &tc.want, logged)
			again, err := r.Finish(within(t), producer.FinishOptions{Reason: subjects.ReasonError})
			require.NoError(t, err)
			require.Equal(t, end, again, "a run ends once")
		})
	}
}

func TestASaveThatIsCancelledStillGetsAnEnd(t *testing.T) {
	t.Parallel()
	p := newProcess(t, broker(t, natsd.Config{}), producer.Config{Logger: quiet()})
	r := p.start(t, "c")
	ctx, cancel := context.WithCancel(within(t))
	end, err := r.Finish(ctx, producer.FinishOptions{Save: func(ctx context.Context) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}})
	require.NoError(t, err)
	require.Equal(t, subjects.End{Reason: subjects.ReasonSaveFailed}, end)
	_, logged := p.events(t, r.ID())
	require.Equal(t, &end, logged)
}

func TestFinishAtOnceFromManyEndsOnce(t *testing.T) {
	t.Parallel()
	p := newProcess(t, broker(t, natsd.Config{}), producer.Config{})
	r := p.start(t, "c")
	ends := make([]subjects.End, 8)
	var wg sync.WaitGroup
	for i := range ends {
		wg.Go(func() {
			o := producer.FinishOptions{Persisted: i%2 == 0}
			end, err := r.Finish(within(t), o)
			if err != nil {
				t.Error(err)
			}
			ends[i] = end
		})
	}
	wg.Wait()
	for _, end := range ends {
		require.Equal(t, ends[0], end)
	}
	require.NoError(t, r.Close())
	_, err := r.Publish(within(t), text(1))
	require.ErrorIs(t, err, producer.ErrClosed)
	_, err = r.Finish(within(t), producer.FinishOptions{Reason: "bored"})
	require.ErrorIs(t, err, producer.ErrOptions)
}

// Finish that is given up while the broker is away can be called again.
func TestFinishGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	p := newProcess(t, s, producer.Config{Logger: quiet()})
	r := p.start(t, "c")
	s.Stop()
	_, err := r.Publish(within(t), text(1))
	require.NoError(t, err)
	saves := 0
	o := producer.FinishOptions{Save: func(context.Context) error { saves++; return nil }}
	ctx, cancel := context.WithTimeout(within(t), 20*time.Millisecond)
	defer cancel()
	_, err = r.Finish(ctx, o)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Zero(t, saves, "no save before every event is stored")
	require.NoError(t, s.Restart())
	end, err := r.Finish(within(t), o)
	require.NoError(t, err)
	require.True(t, end.Persisted)
	require.Equal(t, 1, saves)
}

// The broker goes away while the save runs: the end that follows from the save is
// stored when it is back, though nobody waits for it any more.
func TestAnEndThatCannotBeStoredIsStoredLater(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	p := newProcess(t, s, producer.Config{Logger: quiet(), Lease: time.Second})
	r := p.start(t, "c")
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	_, err := r.Finish(ctx, producer.FinishOptions{Save: func(context.Context) error {
		s.Stop()
		time.AfterFunc(time.Second, cancel) // while the end waits for the broker
		return nil
	}})
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, s.Restart())
	require.Eventually(t, func() bool {
		e, err := p.store.Entry(within(t), r.ID())
		return err == nil && e.End != nil && *e.End == subjects.End{Persisted: true, Reason: subjects.ReasonDone}
	}, patience, 10*time.Millisecond)
}

func TestTERM07CloseWithoutFinishAbandons(t *testing.T) {
	t.Parallel()
	p := newProcess(t, broker(t, natsd.Config{}), producer.Config{})
	r := p.start(t, "c")
	func() {
		defer func() { _ = recover() }()
		defer r.Close()
		_, err := r.Publish(within(t), text(1))
		require.NoError(t, err)
		panic("the agent's")
	}()
	got, end := p.events(t, r.ID())
	require.Len(t, got, 1, "what was published is stored")
	require.Equal(t, &subjects.End{Reason: subjects.ReasonAbandoned}, end)
	e, err := p.store.Entry(within(t), r.ID())
	require.NoError(t, err)
	require.False(t, e.Active())
	require.NoError(t, r.Close())
}

// Closing a run that another process took does not touch it.
func TestCloseOfAFencedRunLeavesItAlone(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	a, b := newProcess(t, s, producer.Config{}), newProcess(t, s, producer.Config{})
	r := a.start(t, "c")
	next, err := b.Resume(within(t), r.ID())
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.NoError(t, a.Close(within(t)))
	_, err = next.Publish(within(t), text(1))
	require.NoError(t, err)
	_, err = next.Flush(within(t))
	require.NoError(t, err)
	_, end := b.events(t, r.ID())
	require.Nil(t, end)
}

func TestProducerCloseEndsWhatIsOpen(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	p, other := newProcess(t, s, producer.Config{}), newProcess(t, s, producer.Config{})
	var open []*producer.Run
	for i := range 10 {
		open = append(open, p.start(t, string(rune('a'+i))))
	}
	lease := p.LeaseID()
	require.NoError(t, p.Close(within(t)))
	for _, r := range open {
		_, end := other.events(t, r.ID())
		require.Equal(t, &subjects.End{Reason: subjects.ReasonAbandoned}, end)
	}
	alive, err := other.store.ProducerAlive(within(t), lease)
	require.NoError(t, err)
	require.False(t, alive, "the lease is given up")
	_, err = p.Start(within(t), producer.StartOptions{ChatID: "c"})
	require.ErrorIs(t, err, producer.ErrClosed)
	_, err = p.Resume(within(t), open[0].ID())
	require.ErrorIs(t, err, producer.ErrClosed)
	require.NoError(t, p.Close(within(t)))
}

func TestProducerCloseTellsOfASaveThatHangs(t *testing.T) {
	t.Parallel()
	p := newProcess(t, broker(t, natsd.Config{}), producer.Config{Logger: quiet()})
	r := p.start(t, "c")
	hang := make(chan struct{})
	_, err := r.Finish(within(t), producer.FinishOptions{SaveTimeout: time.Millisecond,
		Save: func(context.Context) error { <-hang; return nil }})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(within(t), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, p.Close(ctx), producer.ErrSaveRunning)
	close(hang)
	require.NoError(t, p.Close(within(t)))
}

// With the broker gone for good, closing takes no longer than it was given.
func TestProducerCloseIsBounded(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	p := newProcess(t, s, producer.Config{Logger: quiet()})
	r := p.start(t, "c")
	_, err := r.Publish(within(t), text(1))
	require.NoError(t, err)
	s.Stop()
	ctx, cancel := context.WithTimeout(within(t), 200*time.Millisecond)
	defer cancel()
	require.Error(t, p.Close(ctx))
	_, err = r.Publish(within(t), text(1))
	require.Error(t, err)
}
