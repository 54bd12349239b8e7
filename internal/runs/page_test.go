package runs_test

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// impostor answers direct gets of a partition that does not exist, one message after
// another; nil ends the answer.
func (f *fabric) impostor(answer func(n int) *nats.Msg) subjects.RunID {
	f.Helper()
	const partition = 7
	nc, err := f.server.Connect()
	require.NoError(f, err)
	f.Cleanup(nc.Close)
	_, err = nc.Subscribe("$JS.API.DIRECT.GET."+subjects.RunsStream(partition), func(ask *nats.Msg) {
		for n := 0; ; n++ {
			m := answer(n)
			if m == nil {
				return
			}
			m.Subject = ask.Reply
			if nc.PublishMsg(m) != nil {
				return
			}
		}
	})
	require.NoError(f, err)
	require.NoError(f, nc.Flush())
	return subjects.NewRunID(partition)
}

func status(code string) *nats.Msg { return &nats.Msg{Header: nats.Header{"Status": {code}}} }

// answered is the nth record of a run as a direct get answers it.
func answered(n int) *nats.Msg {
	r := event(uint64(n+1), "w")
	m := r.Msg("")
	m.Header["Nats-Subject"] = []string{"s"}
	m.Header["Nats-Sequence"] = []string{strconv.Itoa(n + 10)}
	m.Header["Nats-Time-Stamp"] = []string{time.Now().Format(time.RFC3339Nano)}
	return m
}

// What is asked of the broker has an end, whatever it answers and whether it does.
func TestPageOfABrokerThatAnswersBadly(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	for name, c := range map[string]struct {
		answer func(n int) *nats.Msg
		want   error
		says   string
	}{
		"not at all": {answer: func(int) *nats.Msg { return nil }, want: context.DeadlineExceeded},
		"in part": {answer: func(n int) *nats.Msg {
			if n < 3 {
				return answered(n)
			}
			return nil
		}, want: context.DeadlineExceeded},
		"without end": {answer: func(n int) *nats.Msg {
			if n < 5000 {
				return answered(n)
			}
			return nil
		}, says: "more than the 256 answers"},
		"with a refusal": {answer: func(n int) *nats.Msg { return []*nats.Msg{status("408"), nil}[min(n, 1)] }, says: "408"},
		"without numbers": {answer: func(n int) *nats.Msg {
			m := answered(n)
			m.Header.Del("Nats-Sequence")
			return []*nats.Msg{m, nil}[min(n, 1)]
		}, says: "stream sequence"},
		"with what is no record": {answer: func(n int) *nats.Msg {
			m := answered(n)
			m.Header.Del(subjects.RecordHeader)
			return []*nats.Msg{m, status("204"), nil}[min(n, 2)]
		}, want: subjects.ErrRecord},
	} {
		t.Run(name, func(t *testing.T) {
			f := fabric{T: t, server: f.server, store: f.open(runs.Config{})}
			id := f.impostor(c.answer)
			ctx, cancel := t.Context(), func() {}
			if errors.Is(c.want, context.DeadlineExceeded) {
				ctx, cancel = context.WithTimeout(ctx, 300*time.Millisecond)
			}
			defer cancel()
			subs := f.store.Conn().NumSubscriptions()
			_, err := f.store.Page(ctx, id, 0)
			require.Error(t, err)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
			}
			require.ErrorContains(t, err, c.says)
			require.Equal(t, subs, f.store.Conn().NumSubscriptions(), "nothing is left behind")
		})
	}

	late := make(chan struct{})
	var asked atomic.Int32
	id := f.impostor(func(n int) *nats.Msg {
		if n == 0 && asked.Add(1) == 1 {
			<-late
		}
		return []*nats.Msg{answered(0), status("204"), nil}[min(n, 2)]
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := f.store.Page(ctx, id, 0)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	close(late)
	page, err := f.store.Page(t.Context(), id, 0)
	require.NoError(t, err)
	require.Len(t, page, 1, "an answer that comes late is nobody's")
}

func TestReadsWithoutAStream(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	for id, want := range map[subjects.RunID]error{subjects.NewRunID(7): runs.ErrLogLost, "not an id": runs.ErrNotFound} {
		_, err := f.store.Page(t.Context(), id, 1)
		require.ErrorIs(t, err, want)
		_, err = f.store.Last(t.Context(), id)
		require.ErrorIs(t, err, want)
	}
}
