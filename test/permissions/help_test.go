package permissions_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/subjects"
)

// product is the whole of it under one broker.
type product struct {
	*broker
	relay  *app.App
	http   *http.Client
	ctx    context.Context
	client *consumer.Client
}

// run keeps a part of the product going until the function returned is called, which
// waits for it.
func (b *broker) run(part func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- part(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			require.NoError(b, err)
		case <-time.After(patience):
			b.Fatal("a part does not stop")
		}
	}
	b.Cleanup(stop)
	return stop
}

func (b *broker) serve(cfg app.Config) *product {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	b.Cleanup(cancel)
	p := &product{broker: b, http: &http.Client{Transport: &http.Transport{}}, ctx: ctx}
	var err error
	p.relay, err = app.New(cfg)
	require.NoError(b, err)
	b.Cleanup(p.http.CloseIdleConnections)
	b.run(p.relay.Run)
	select {
	case <-p.relay.Ready():
	case <-ctx.Done():
		b.Fatal("the relay does not come up")
	}
	p.client = &consumer.Client{BaseURL: p.relay.URL(), HTTP: p.http}
	return p
}

// ask makes a request and wants a status; into is what the answer is read into, or nil.
func (p *product) ask(method, path, body string, status int, into any) string {
	p.Helper()
	req, err := http.NewRequestWithContext(p.ctx, method, p.relay.URL()+path, strings.NewReader(body))
	require.NoError(p, err)
	if path == "/runs/active" {
		req.Header.Set("Accept", "application/json")
	}
	resp, err := p.http.Do(req)
	require.NoError(p, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(p, err)
	require.Equal(p, status, resp.StatusCode, "%s %s: %s", method, path, data)
	if into != nil {
		require.NoError(p, json.Unmarshal(data, into))
	}
	return string(data)
}

// send sends a message to a chat and gives the run that answers it.
func (p *product) send(path, chat, text, more string) subjects.RunID {
	p.Helper()
	var sent struct {
		RunID subjects.RunID `json:"run_id"`
	}
	p.ask(http.MethodPost, path, fmt.Sprintf(`{"chat_id":%q,"input":{"text":%q}%s}`, chat, text, more), http.StatusAccepted, &sent)
	return sent.RunID
}

// watch reads a run until until says so, or up to its end, and gives where it stopped.
func (p *product) watch(w consumer.Watch, until func(consumer.Frame) bool) (end *subjects.End, seq uint64) {
	p.Helper()
	w.Wait = 20 * time.Second
	s := p.client.Watch(p.ctx, w)
	defer s.Close()
	for {
		f, err := s.Next(p.ctx)
		if errors.Is(err, io.EOF) {
			return end, seq
		}
		require.NoError(p, err)
		seq = f.Seq
		if f.Type == consumer.End {
			end = &f.End
		}
		if until != nil && until(f) {
			return end, seq
		}
	}
}

// end waits for the end of a run, whether it is its chat's newest or not.
func (p *product) end(id subjects.RunID) subjects.End {
	p.Helper()
	var snapshot struct {
		End *subjects.End `json:"end"`
	}
	p.eventually(func() bool {
		p.ask(http.MethodGet, "/runs/"+string(id)+"/snapshot", "", http.StatusOK, &snapshot)
		return snapshot.End != nil
	}, "run "+string(id)+" ends")
	return *snapshot.End
}

// said waits until a run has said something.
func (p *product) said(chat string, id subjects.RunID, atLeast uint64) uint64 {
	p.Helper()
	_, seq := p.watch(consumer.Watch{ChatID: chat, RunID: id}, func(f consumer.Frame) bool { return f.Seq >= atLeast })
	return seq
}

func (p *product) eventually(ok func() bool, what string) {
	p.Helper()
	require.Eventually(p, func() bool { return len(p.log.all()) > 0 || ok() }, patience, 50*time.Millisecond, what)
	require.Empty(p, p.log.all(), what)
}
