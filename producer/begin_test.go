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

// queued makes a run whose turn waits for a worker, or behind the chat's active run.
func (p *process) queued(t testing.TB, chat string, on runs.OnActive) *runs.Entry {
	t.Helper()
	st, err := p.store.StartRun(within(t), runs.StartRequest{OnActive: on,
		Entry: runs.Entry{ChatID: chat, Kind: "send", TurnID: "t", State: runs.StateQueued}})
	require.NoError(t, err)
	return st.Entry
}

func (p *process) begin(t testing.TB, id subjects.RunID) *producer.Run {
	t.Helper()
	r, err := p.Begin(within(t), id, true)
	require.NoError(t, err)
	return r
}

// Eight workers at once, in two processes: one begins the run.
func TestBeginOnce(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	procs := []*process{newProcess(t, s, producer.Config{}), newProcess(t, s, producer.Config{})}
	for range 10 {
		e := procs[0].queued(t, "c", runs.Supersede)
		var mu sync.Mutex
		var won []*producer.Run
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				r, err := procs[i%2].Begin(within(t), e.RunID, i%2 == 0)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won = append(won, r)
				} else if !errors.Is(err, producer.ErrBegun) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		require.Len(t, won, 1)
		r := won[0]
		_, err := r.Publish(within(t), text(1))
		require.NoError(t, err)
		_, err = r.Finish(within(t), producer.FinishOptions{Persisted: true})
		require.NoError(t, err)
		for _, p := range procs {
			_, err = p.Begin(within(t), e.RunID, true)
			require.ErrorIs(t, err, producer.ErrEnded)
		}
		got, end := procs[0].events(t, e.RunID)
		require.Len(t, got, 1)
		require.True(t, end.Persisted)
	}
}

// What ended before it began never begins, wherever whoever ended it died.
func TestBeginNothingThatHasEnded(t *testing.T) {
	t.Parallel()
	p := newProcess(t, broker(t, natsd.Config{}), producer.Config{})
	for name, end := range map[string]func(*runs.Entry){
		"stopped": func(e *runs.Entry) {
			_, begun, err := p.store.EndQueued(within(t), e.RunID, subjects.End{Reason: subjects.ReasonStopped})
			require.NoError(t, err)
			require.False(t, begun)
		},
		"superseded": func(e *runs.Entry) { p.queued(t, e.ChatID, runs.Supersede) },
		"in the log alone": func(e *runs.Entry) {
			r := subjects.EndRecord(subjects.End{Superseded: true, Reason: subjects.ReasonSuperseded}, 0, "w")
			_, err := p.store.Append(within(t), e.RunID, &r, e.FirstStreamSeq)
			require.NoError(t, err)
		},
		"evicted": func(e *runs.Entry) { require.NoError(t, p.store.Discard(within(t), e.RunID)) },
	} {
		e := p.queued(t, name, runs.Reject)
		end(e)
		_, err := p.Begin(within(t), e.RunID, true)
		if name == "evicted" {
			require.ErrorIs(t, err, producer.ErrNotFound)
			continue
		}
		require.ErrorIs(t, err, producer.ErrEnded, name)
		got, err := p.store.Entry(within(t), e.RunID)
		require.NoError(t, err)
		require.NotNil(t, got.End, name)
		_, last := p.events(t, e.RunID)
		require.Equal(t, last, got.End)
	}
	unclaimed := p.queued(t, "unclaimed", runs.Reject)
	j := runs.NewJanitor(p.store, runs.JanitorConfig{TurnTTL: time.Nanosecond})
	require.NoError(t, j.Sweep(within(t)))
	_, err := p.Begin(within(t), unclaimed.RunID, true)
	require.ErrorIs(t, err, producer.ErrEnded)
}

// A process dies after it has begun a run and before it could tell the queue.
func TestTERM07_BegunAndLost(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	dead, p := newProcess(t, s, producer.Config{Lease: time.Second}), newProcess(t, s, producer.Config{})
	e := p.queued(t, "c", runs.Reject)
	behind := p.queued(t, "c", runs.Behind)
	dead.begin(t, e.RunID)
	dead.nc.Close()
	_, err := p.Begin(within(t), e.RunID, true)
	require.ErrorIs(t, err, producer.ErrBegun)
	j := runs.NewJanitor(p.store, runs.JanitorConfig{Lease: 10 * time.Millisecond})
	require.Eventually(t, func() bool {
		require.NoError(t, j.Sweep(within(t)))
		_, err := p.Begin(within(t), e.RunID, true)
		return errors.Is(err, producer.ErrEnded)
	}, patience, 20*time.Millisecond)
	_, end := p.events(t, e.RunID)
	require.Equal(t, &subjects.End{Reason: subjects.ReasonAbandoned}, end)
	p.begin(t, behind.RunID) // the chat goes on
}

// The answer to Begin is lost: it is ours all the same.
func TestDUP04_BeginWhoseAckIsLost(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{Listen: "127.0.0.1:0"})
	px := newProxy(t, s)
	direct := newProcess(t, s, producer.Config{})
	far := newDistant(t, px)
	e := direct.queued(t, "c", runs.Reject)
	px.lose()
	type result struct {
		r   *producer.Run
		err error
	}
	got := make(chan result, 1)
	go func() {
		r, err := far.Begin(within(t), e.RunID, true)
		got <- result{r, err}
	}()
	// The question for the entry is lost first; it is asked again, and so is all else.
	px.cut()
	res := <-got
	require.NoError(t, res.err)
	_, err := res.r.Publish(within(t), text(1))
	require.NoError(t, err)
	_, err = res.r.Finish(within(t), producer.FinishOptions{})
	require.NoError(t, err)
}

// Stops, answers and messages reach the run, also those from before it began.
func TestControlsReachTheRun(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	p, relay := newProcess(t, s, producer.Config{}), newProcess(t, s, producer.Config{})
	e := relay.queued(t, "c", runs.Reject)
	put := func(c producer.Control) {
		_, won, err := relay.store.PutControl(within(t), e.RunID, c)
		require.NoError(t, err)
		require.True(t, won)
	}
	put(producer.Control{Kind: producer.ControlInput, ID: "1", Body: []byte(`{"text":"early"}`)})
	r := p.begin(t, e.RunID)
	inputs, err := r.Inputs(within(t))
	require.NoError(t, err)
	require.Len(t, inputs, 1)
	c, err := r.NextControl(within(t))
	require.NoError(t, err)
	require.Equal(t, 1, c.Input())
	put(producer.Control{Kind: producer.ControlInput, ID: "2", Body: []byte(`{"text":"late"}`)})
	c, err = r.NextControl(within(t))
	require.NoError(t, err)
	require.Equal(t, 2, c.Input())
	put(producer.Control{Kind: producer.ControlStop, Reason: "enough"})
	select {
	case <-r.Stopping():
	case <-within(t).Done():
		t.Fatal("the stop does not come")
	}
	_, err = r.Publish(within(t), text(1))
	require.NoError(t, err, "it is for the writer to finish")
	_, err = r.Finish(within(t), producer.FinishOptions{Reason: subjects.ReasonStopped})
	require.NoError(t, err)
	c, err = r.NextControl(within(t))
	require.NoError(t, err)
	require.Equal(t, producer.ControlStop, c.Kind)
	_, err = r.NextControl(within(t))
	require.ErrorIs(t, err, producer.ErrClosed)

	// A stop from before the begin that lost the race shows at once.
	e = relay.queued(t, "d", runs.Reject)
	put(producer.Control{Kind: producer.ControlStop})
	<-p.begin(t, e.RunID).Stopping()
}

// A stop is heard however much the run has not looked at.
func TestStopBehindManyControls(t *testing.T) {
	t.Parallel()
	p := newProcess(t, broker(t, natsd.Config{}), producer.Config{})
	r := p.start(t, "c")
	for i := range 1100 {
		_, _, err := p.store.PutControl(within(t), r.ID(), producer.Control{Kind: producer.ControlAnswer, ID: string(text(i)), Body: []byte(`{}`)})
		require.NoError(t, err)
	}
	_, _, err := p.store.PutControl(within(t), r.ID(), producer.Control{Kind: producer.ControlStop})
	require.NoError(t, err)
	select {
	case <-r.Stopping():
	case <-within(t).Done():
		t.Fatal("the stop is not heard")
	}
}

// A run that somebody else ended learns of it though it is silent.
func TestSilentRunLearnsOfItsEnd(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	p, other := newProcess(t, s, producer.Config{}), newProcess(t, s, producer.Config{})
	e := p.queued(t, "c", runs.Reject)
	r := p.begin(t, e.RunID)
	// Its subscription has to stand before what is told only once.
	_, _, err := other.store.PutControl(within(t), e.RunID, producer.Control{Kind: producer.ControlInput, ID: "1", Body: []byte(`{}`)})
	require.NoError(t, err)
	_, err = r.NextControl(within(t))
	require.NoError(t, err)
	other.queued(t, "c", runs.Supersede)
	select {
	case <-r.Done():
	case <-within(t).Done():
		t.Fatal("it does not learn of it")
	}
	require.ErrorIs(t, r.Err(), producer.ErrSuperseded)
	for err == nil { // it may be told that its messages are closed
		_, err = r.NextControl(context.Background())
	}
	require.ErrorIs(t, err, producer.ErrSuperseded)
}

func TestSkippedSaveIsNoSave(t *testing.T) {
	t.Parallel()
	p := newProcess(t, broker(t, natsd.Config{}), producer.Config{})
	r := p.start(t, "c")
	end, err := r.Finish(within(t), producer.FinishOptions{Save: func(context.Context) error { return producer.ErrSkipped }})
	require.NoError(t, err)
	require.Equal(t, subjects.End{Reason: subjects.ReasonSkipped}, end)
	r = p.start(t, "d")
	end, err = r.Finish(within(t), producer.FinishOptions{Reason: subjects.ReasonStopped, Save: func(context.Context) error { return errors.New("no") }})
	require.NoError(t, err)
	require.Equal(t, subjects.End{Reason: subjects.ReasonStopped}, end)
}
