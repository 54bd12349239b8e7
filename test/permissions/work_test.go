package permissions_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/killswitch"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/producer/demo"
	"github.com/rejoin/rejoin/subjects"
)

// Every role does all of its work, and the server refuses none of it.
func TestEveryRoleCanDoItsWork(t *testing.T) {
	t.Parallel()
	b := boot(t)
	made, err := app.Init(t.Context(), b.as("provisioner"), false)
	require.NoError(t, err)
	for _, a := range made {
		require.True(t, a.Missing, a.Name)
	}
	made, err = app.Init(t.Context(), b.as("provisioner"), false)
	require.NoError(t, err)
	for _, a := range made {
		require.False(t, a.Due(), a.Name)
	}

	p := b.serve(b.as("relay"))
	worker := b.as("worker")
	worker.Worker = &app.WorkerConfig{Agent: app.AgentConfig{Kind: app.AgentDemo, Demo: demo.AgentConfig{Rate: 500}}}
	stopWorker := b.run(func(ctx context.Context) error { return app.RunWorker(ctx, worker, nil) })
	stopJanitor := b.run(func(ctx context.Context) error { return app.RunJanitor(ctx, b.janitor()) })

	p.ask(http.MethodGet, "/readyz", "", http.StatusOK, nil)
	p.turns()
	p.conversation()
	p.overHTTP()
	p.embedded()
	p.switches()
	stopWorker()
	stopJanitor()
	p.unclaimed()
	p.sweeps()
	require.Empty(t, b.log.all())
}

func (b *broker) janitor() app.Config {
	c := b.as("janitor")
	c.Retain = 15 * time.Second // all that is asked about a run that has ended takes less
	return c
}

// turns are sent, watched, left, come back to, saved, and at last removed.
func (p *product) turns() {
	id := p.send("/chat/send", "c", "quick", "")
	first, seq := p.watch(consumer.Watch{ChatID: "c", RunID: id}, func(f consumer.Frame) bool { return f.Seq > 0 })
	require.Nil(p, first)
	require.True(p, p.end(id).Persisted)
	end, _ := p.watch(consumer.Watch{ChatID: "c", RunID: id, AfterSeq: &seq}, nil)
	require.True(p, end.Persisted)
	p.ask(http.MethodGet, "/runs/"+string(id), "", http.StatusOK, nil)
	p.ask(http.MethodGet, "/runs/"+string(id)+"/snapshot", "", http.StatusOK, nil)
	p.ask(http.MethodGet, "/chat/c/session", "", http.StatusOK, nil)
	require.Contains(p, p.ask(http.MethodGet, "/chat/c/history", "", http.StatusOK, nil), id)
	p.eventually(func() bool {
		resp, err := p.http.Get(p.relay.URL() + "/runs/" + string(id))
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusNotFound
	}, "the run is removed")
	require.Contains(p, p.ask(http.MethodGet, "/chat/c/history", "", http.StatusOK, nil), id)
}

// conversation is everything that people send to a run.
func (p *product) conversation() {
	// A question, and its answer.
	id := p.send("/chat/send", "asks", "hi", "")
	var run struct {
		Questions []struct {
			RequestID string `json:"request_id"`
		} `json:"questions"`
	}
	p.eventually(func() bool {
		p.ask(http.MethodGet, "/runs/"+string(id), "", http.StatusOK, &run)
		return len(run.Questions) > 0
	}, "it asks")
	require.Contains(p, p.ask(http.MethodGet, "/runs/active", "", http.StatusOK, nil), id)
	p.ask(http.MethodPost, "/chat/answer", fmt.Sprintf(`{"chat_id":"asks","run_id":%q,"request_id":%q,"outcome":{"outcome":"selected","optionId":"allow"}}`,
		id, run.Questions[0].RequestID), http.StatusOK, nil)
	require.True(p, p.end(id).Persisted)

	// A message for the run that answers; one that waits; a stop of either.
	id = p.send("/chat/send", "long", "long", "")
	p.said("long", id, 20)
	require.Equal(p, id, p.send("/chat/steer-send", "long", "and this", ""))
	behind := p.send("/chat/send", "long", "quick", `,"on_active":"queue"`)
	stopped := p.send("/chat/send", "long", "quick", `,"on_active":"queue"`)
	stop := `{"chat_id":"long","run_id":%q}`
	p.ask(http.MethodPost, "/chat/stop", fmt.Sprintf(stop, stopped), http.StatusAccepted, nil)
	require.Equal(p, subjects.ReasonStopped, p.end(stopped).Reason)
	p.ask(http.MethodPost, "/chat/stop", fmt.Sprintf(stop, id), http.StatusAccepted, nil)
	require.Equal(p, subjects.ReasonStopped, p.end(id).Reason)
	require.True(p, p.end(behind).Persisted)

	// A run that asks is replaced: its question is closed.
	id = p.send("/chat/send", "again", "hi", "")
	p.eventually(func() bool {
		p.ask(http.MethodGet, "/runs/"+string(id), "", http.StatusOK, &run)
		return len(run.Questions) > 0
	}, "it asks")
	newer := p.send("/chat/send", "again", "quick", `,"kind":"retry"`)
	require.True(p, p.end(id).Superseded)
	require.True(p, p.end(newer).Persisted)
}

// overHTTP is a producer in any language: long enough for segments, taken over by a
// second relay, and asked by people.
func (p *product) overHTTP() {
	var started struct {
		RunID subjects.RunID `json:"run_id"`
	}
	p.ask(http.MethodPost, "/runs", `{"chat_id":"http"}`, http.StatusCreated, &started)
	path := "/runs/" + string(started.RunID)
	lines := strings.Repeat(`{"type":"CUSTOM","name":"n","value":1}`+"\n", 2*subjects.SegmentEvents)
	p.ask(http.MethodPost, path+"/events", lines, http.StatusOK, nil)
	p.ask(http.MethodPost, path+"/heartbeat", "", http.StatusNoContent, nil)

	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.relay.URL()+path+"/controls", nil)
	require.NoError(p, err)
	resp, err := p.http.Do(req)
	require.NoError(p, err)
	defer resp.Body.Close()
	require.Equal(p, http.StatusOK, resp.StatusCode)

	p.ask(http.MethodPost, "/chat/stop", fmt.Sprintf(`{"chat_id":"http","run_id":%q}`, started.RunID), http.StatusAccepted, nil)
	for in := bufio.NewScanner(resp.Body); ; {
		require.True(p, in.Scan(), "the producer is told to stop")
		if strings.Contains(in.Text(), `"stop"`) {
			break
		}
	}
	other := p.serve(p.as("relay")) // it takes the run over
	other.ask(http.MethodPost, path+"/events", lines, http.StatusOK, nil)
	other.ask(http.MethodPost, path+"/end", `{"persisted":false,"reason":"stopped"}`, http.StatusOK, nil)
	require.Equal(p, subjects.ReasonStopped, p.end(started.RunID).Reason)

	p.ask(http.MethodPost, "/runs", `{"chat_id":"http"}`, http.StatusCreated, &started)
	p.ask(http.MethodPost, "/runs", `{"chat_id":"http","on_active":"reject"}`, http.StatusConflict, nil)
	older := started.RunID
	p.ask(http.MethodPost, "/runs", `{"chat_id":"http"}`, http.StatusCreated, &started)
	require.True(p, p.end(older).Superseded)
}

// embedded is a Go program that writes runs itself.
func (p *product) embedded() {
	open := func() (*producer.Producer, *nats.Conn) {
		nc := p.connect("producer")
		made, err := producer.Connect(p.ctx, nc, producer.Config{Lease: 4 * time.Second})
		require.NoError(p, err)
		return made, nc
	}
	one, _ := open()
	say := func(r *producer.Run, n int) {
		for range n {
			_, err := r.Publish(p.ctx, []byte(`{"type":"CUSTOM","name":"n","value":1}`))
			require.NoError(p, err)
		}
		_, err := r.Flush(p.ctx)
		require.NoError(p, err)
	}
	run, err := one.Start(p.ctx, producer.StartOptions{ChatID: "go", ClientToken: "t"})
	require.NoError(p, err)
	say(run, 3*subjects.SegmentEvents)
	_, err = one.Start(p.ctx, producer.StartOptions{ChatID: "go", ClientToken: "t"})
	require.ErrorIs(p, err, producer.ErrAlreadyStarted)
	require.NoError(p, run.Remember(p.ctx, []byte("so far")))
	_, _, err = run.Snapshot(p.ctx)
	require.NoError(p, err)
	// It asks, a message comes too late, and another process goes on.
	_, err = run.Publish(p.ctx, []byte(`{"type":"CUSTOM","name":"demo.permission","value":{"requestId":"q"}}`))
	require.NoError(p, err)
	_, err = run.CloseQuestion(p.ctx, "q", "nobody is there")
	require.NoError(p, err)
	_, err = run.CloseInputs(p.ctx, 0)
	require.NoError(p, err)
	_, err = run.Inputs(p.ctx)
	require.NoError(p, err)
	require.NoError(p, run.Release(p.ctx))

	two, lost := open()
	again, err := two.Resume(p.ctx, run.ID())
	require.NoError(p, err)
	say(again, subjects.SegmentEvents)
	newer, err := one.Start(p.ctx, producer.StartOptions{ChatID: "go"})
	require.NoError(p, err)
	require.True(p, p.end(run.ID()).Superseded)
	behind := p.send("/chat/send", "go", "quick", `,"on_active":"queue"`)
	say(newer, 3)
	end, err := newer.Finish(p.ctx, producer.FinishOptions{Save: func(context.Context) error { return nil }})
	require.NoError(p, err)
	require.True(p, end.Persisted)
	require.True(p, p.end(behind).Persisted, "the turn behind it had its time")

	// A program that is no more: its run is ended by a janitor.
	dead, err := two.Start(p.ctx, producer.StartOptions{ChatID: "dead"})
	require.NoError(p, err)
	say(dead, 3)
	lost.Close()
	require.Equal(p, subjects.ReasonAbandoned, p.end(dead.ID()).Reason)
	closing, cancel := context.WithTimeout(p.ctx, time.Second)
	defer cancel()
	_ = two.Close(closing) // it has no connection
	require.NoError(p, one.Close(p.ctx))
}

// switches turn watching off and on again, from a relay and from a terminal.
func (p *product) switches() {
	p.ask(http.MethodPut, "/admin/switch", `{"percent":100}`, http.StatusOK, nil)
	off := func() bool {
		resp, err := p.http.Get(p.relay.URL() + "/chat/live?chat_id=c&protocol=1")
		require.NoError(p, err)
		resp.Body.Close()
		return resp.StatusCode == http.StatusServiceUnavailable
	}
	p.eventually(off, "watching is off")
	_, err := app.Switches(p.ctx, p.as("provisioner"), killswitch.Everybody, &killswitch.Setting{By: "test"})
	require.NoError(p, err)
	p.eventually(func() bool { return !off() }, "watching is on")
	p.ask(http.MethodGet, "/admin/switch", "", http.StatusOK, nil)
}

// unclaimed is a turn that no worker takes.
func (p *product) unclaimed() {
	id := p.send("/chat/send", "nobody", "hi", "")
	impatient := p.janitor()
	impatient.TurnTTL = time.Second
	stop := p.run(func(ctx context.Context) error { return app.RunJanitor(ctx, impatient) })
	defer stop()
	require.Equal(p, subjects.ReasonError, p.end(id).Reason)
}

// sweeps removes what belongs to no run: what a producer left that may not remove it.
func (p *product) sweeps() {
	open := func(role string) *runs.Store {
		s, err := runs.Open(p.ctx, p.connect(role), runs.Config{LeaveRemoval: role != "janitor"})
		require.NoError(p, err)
		p.Cleanup(s.Close)
		return s
	}
	left := open("producer")
	id := left.NewRunID()
	_, err := left.Append(p.ctx, id, &subjects.Record{Kind: subjects.KindStart, Writer: "w"}, 0)
	require.NoError(p, err)
	require.NoError(p, left.Discard(p.ctx, id))
	_, err = left.Last(p.ctx, id)
	require.NoError(p, err, "it is left")
	mine := open("janitor")
	j := runs.NewJanitor(mine, runs.JanitorConfig{Lease: time.Second, Tidy: time.Millisecond})
	p.eventually(func() bool {
		require.NoError(p, j.Sweep(p.ctx))
		_, err := mine.Last(p.ctx, id)
		return err != nil
	}, "it is removed")
	require.ErrorIs(p, func() error { _, err := mine.Last(p.ctx, id); return err }(), runs.ErrNotFound)
}
