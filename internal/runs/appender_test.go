package runs_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/proxy"
)

// outcomes takes in what an appender tells.
type outcomes chan outcome

type outcome struct {
	seq uint64
	err error
}

func (o outcomes) done(seq uint64, err error) { o <- outcome{seq, err} }

func (o outcomes) next(t *testing.T) outcome {
	t.Helper()
	select {
	case got := <-o:
		return got
	case <-time.After(patience):
		t.Fatal("nothing is told")
		return outcome{}
	}
}

func TestAppenderAppendsBehindTheNewestOnly(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	e := f.start("c", 1, "p")
	told := make(outcomes, 10)
	a := f.store.Appender(e.RunID, told.done)
	prev := e.FirstStreamSeq
	for i := range uint64(20) {
		r := event(i+1, e.Writer)
		require.NoError(t, a.Send(&r, prev))
		got := told.next(t)
		require.NoError(t, got.err)
		prev = got.seq
	}
	page, err := f.store.Page(t.Context(), e.RunID, 0)
	require.NoError(t, err)
	require.Len(t, page, 21)
	for i, r := range page[1:] {
		want := event(uint64(i+1), e.Writer)
		require.Equal(t, want, r.Record)
	}
	r := event(21, e.Writer)
	require.NoError(t, a.Send(&r, prev-1))
	require.ErrorIs(t, told.next(t).err, runs.ErrConflict)
	require.NoError(t, a.Send(&r, prev))
	require.NoError(t, told.next(t).err)
	require.Empty(t, told, "each is told once")
}

func TestAppendersLostAckIsResolved(t *testing.T) {
	t.Parallel()
	d := newDistant(t)
	e := d.f.start("c", 1, "p")
	told := make(outcomes, 10)
	a := d.Appender(e.RunID, told.done)
	r := event(1, e.Writer)
	err := d.unanswered(func() bool {
		last, err := d.f.store.Last(t.Context(), e.RunID)
		return err == nil && last.Last == 1
	}, func() error {
		require.NoError(t, a.Send(&r, e.FirstStreamSeq))
		return told.next(t).err
	})
	require.Error(t, err)
	seq, err := d.Resolve(t.Context(), e.RunID, &r, e.FirstStreamSeq, err)
	require.NoError(t, err)
	last, err := d.f.store.Last(t.Context(), e.RunID)
	require.NoError(t, err)
	require.Equal(t, last.StreamSeq, seq, "stored once")
	r = event(2, e.Writer)
	require.NoError(t, a.Send(&r, seq))
	require.NoError(t, told.next(t).err)
}

func TestAppenderWithdraws(t *testing.T) {
	t.Parallel()
	d := newDistant(t)
	e := d.f.start("c", 1, "p")
	told := make(outcomes, 10)
	a := d.Appender(e.RunID, told.done)
	release := d.proxy.Hold(proxy.Down)
	defer release()
	r := event(1, e.Writer)
	require.NoError(t, a.Send(&r, e.FirstStreamSeq))
	a.Withdraw()
	require.ErrorIs(t, told.next(t).err, context.Canceled)
	a.Withdraw()
	require.ErrorIs(t, a.Send(&r, e.FirstStreamSeq), context.Canceled)
	release()
	d.Store.Close()
	require.Empty(t, told, "each is told once")
	never := d.Appender(subjects.NewRunID(0), told.done)
	require.Error(t, never.Send(&r, 0))
}
