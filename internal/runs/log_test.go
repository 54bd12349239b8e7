package runs_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

func TestAppendIsFenced(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	e := f.start("c", 1, "p")
	first := e.FirstStreamSeq
	mine, theirs := event(1, "mine"), event(1, "theirs")
	seq, err := f.store.Append(t.Context(), e.RunID, &mine, first)
	require.NoError(t, err)
	_, err = f.store.Append(t.Context(), e.RunID, &theirs, first)
	require.ErrorIs(t, err, runs.ErrFenced)
	require.NotErrorIs(t, err, runs.ErrEnded)
	last, err := f.store.Last(t.Context(), e.RunID)
	require.NoError(t, err)
	require.Equal(t, "mine", last.Writer)
	require.Equal(t, seq, last.StreamSeq)
}

// A record whose ack was lost is sent again: it is found to be stored, once.
func TestAppendSettlesALostAck(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	e := f.start("c", 1, "p")
	r := event(1, e.Writer)
	seq, err := f.store.Append(t.Context(), e.RunID, &r, e.FirstStreamSeq)
	require.NoError(t, err)
	again, err := f.store.Append(t.Context(), e.RunID, &r, e.FirstStreamSeq)
	require.NoError(t, err)
	require.Equal(t, seq, again)
	page, err := f.store.Page(t.Context(), e.RunID, 0)
	require.NoError(t, err)
	require.Len(t, page, 2, "the start and one event")
}

func TestAppendWaitsForTheBroker(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{Listen: "127.0.0.1:0", StoreDir: t.TempDir()})
	e := f.start("c", 1, "p")
	f.server.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	r := event(1, e.Writer)
	_, err := f.store.Append(ctx, e.RunID, &r, e.FirstStreamSeq)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	stored := make(chan error, 1)
	go func() {
		_, err := f.store.Append(t.Context(), e.RunID, &r, e.FirstStreamSeq)
		stored <- err
	}()
	require.NoError(t, f.server.Restart())
	require.NoError(t, <-stored)
	page, err := f.store.Page(t.Context(), e.RunID, 0)
	require.NoError(t, err)
	require.Len(t, page, 2)
}

// A broker that refuses a record may take it later: a refusal is no fence.
func TestAppendWaitsForABrokerThatRefuses(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	e := f.start("c", 1, "p")
	cfg := subjects.RunsConfig(e.RunID.Partition(), 1)
	cfg.Discard, cfg.MaxMsgs = jetstream.DiscardNew, 1
	_, err := f.js.UpdateStream(t.Context(), cfg)
	require.NoError(t, err)
	r := event(1, e.Writer)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = f.store.Append(ctx, e.RunID, &r, e.FirstStreamSeq)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, runs.ErrFenced)
	first := subjects.Record{Kind: subjects.KindStart, Writer: "w"}
	ctx, cancel = context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = f.store.Append(ctx, subjects.NewRunID(e.RunID.Partition()), &first, 0)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, runs.ErrLogLost, "a log that never began is not lost")
	_, err = f.js.UpdateStream(t.Context(), subjects.RunsConfig(e.RunID.Partition(), 1))
	require.NoError(t, err)
	_, err = f.store.Append(t.Context(), e.RunID, &r, e.FirstStreamSeq)
	require.NoError(t, err)
}

// What can never be stored is not tried for ever.
func TestAppendGivesUpWhatIsTooLarge(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	e := f.start("c", 1, "p")
	r := event(1, e.Writer)
	r.Body = make([]byte, 2<<20)
	_, err := f.store.Append(t.Context(), e.RunID, &r, e.FirstStreamSeq)
	require.ErrorIs(t, err, nats.ErrMaxPayload)

	cfg := subjects.RunsConfig(e.RunID.Partition(), 1)
	cfg.MaxMsgSize = 1000
	_, err = f.js.UpdateStream(t.Context(), cfg)
	require.NoError(t, err)
	r.Body = make([]byte, 2000)
	_, err = f.store.Append(t.Context(), e.RunID, &r, e.FirstStreamSeq)
	var refusal *jetstream.APIError
	require.ErrorAs(t, err, &refusal)
	require.EqualValues(t, 10054, refusal.ErrorCode)
}

// An end that cannot be read is an end all the same, and no success.
func TestEndThatCannotBeRead(t *testing.T) {
	t.Parallel()
	st := runs.Stored{Record: subjects.Record{Kind: subjects.KindEnd, Body: []byte("{")}}
	require.Equal(t, &subjects.End{Reason: subjects.ReasonError}, st.End())
	st.Kind = subjects.KindEvents
	require.Nil(t, st.End())
}

func TestAppendTellsOfTheEnd(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	e := f.start("c", 1, "p")
	f.publish(e)
	f.end(e)
	r := event(2, e.Writer)
	_, err := f.store.Append(t.Context(), e.RunID, &r, e.FirstStreamSeq+1)
	var ended *runs.EndedError
	require.ErrorAs(t, err, &ended)
	require.ErrorIs(t, err, runs.ErrFenced)
	require.Equal(t, uint64(1), ended.Seq)
	require.Equal(t, subjects.ReasonDone, ended.End.Reason)
}

func TestAppendToAPurgedLogIsLost(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	e := f.start("c", 1, "p")
	s, err := f.js.Stream(t.Context(), subjects.RunsStream(e.RunID.Partition()))
	require.NoError(t, err)
	require.NoError(t, s.Purge(t.Context()))
	r := event(1, e.Writer)
	_, err = f.store.Append(t.Context(), e.RunID, &r, e.FirstStreamSeq)
	require.ErrorIs(t, err, runs.ErrLogLost)
	// The entry alone can still tell readers of the end.
	got, err := f.store.EndRun(t.Context(), e.RunID, subjects.End{Reason: subjects.ReasonAbandoned})
	require.NoError(t, err)
	require.Equal(t, subjects.ReasonAbandoned, got.End.Reason)
	require.False(t, f.entry(e.RunID).Active())
}

// EndRun wins against a writer that never pauses, and the writer learns of it.
func TestEndRunFencesABusyWriter(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	e := f.start("c", 1, "p")
	stopped := make(chan error, 1)
	var stored uint64
	go func() {
		prev := e.FirstStreamSeq
		for seq := uint64(1); ; seq++ {
			r := event(seq, e.Writer)
			next, err := f.store.Append(context.Background(), e.RunID, &r, prev)
			if err != nil {
				stopped <- err
				return
			}
			prev, stored = next, seq
		}
	}()
	end := subjects.End{Superseded: true, Reason: subjects.ReasonSuperseded}
	got, err := f.store.EndRun(t.Context(), e.RunID, end)
	require.NoError(t, err)
	require.ErrorIs(t, <-stopped, runs.ErrEnded)
	require.Equal(t, stored, got.Seq)
	require.Equal(t, end, *f.entry(e.RunID).End)

	again, err := f.store.EndRun(t.Context(), e.RunID, subjects.End{Reason: subjects.ReasonAbandoned})
	require.NoError(t, err)
	require.Equal(t, end, again.End, "the first end stays")
}

func TestPagesAreBoundedAndComplete(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	e, other := f.start("c", 1, "p"), f.start("d", 1, "p")
	prev, big := e.FirstStreamSeq, make([]byte, 200<<10)
	for seq := uint64(1); seq <= 600; seq++ {
		r := event(seq, e.Writer)
		if seq > 590 {
			r.Body = big
		}
		var err error
		prev, err = f.store.Append(t.Context(), e.RunID, &r, prev)
		require.NoError(t, err)
		if seq%100 == 0 {
			f.publish(other)
		}
	}
	var seen, pages uint64
	for from := e.FirstStreamSeq; ; pages++ {
		page, err := f.store.Page(t.Context(), e.RunID, from)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		require.LessOrEqual(t, len(page), 256)
		for _, st := range page {
			require.Equal(t, seen, st.Prev())
			seen, from = st.Last, st.StreamSeq+1
		}
	}
	require.Equal(t, uint64(600), seen)
	require.GreaterOrEqual(t, pages, uint64(4))
}
