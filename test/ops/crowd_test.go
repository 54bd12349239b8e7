package ops_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// crowd is producers over HTTP, each with a run of its own, and readers spread over
// these runs. All of them go through one balancer.
type crowd struct {
	t       *testing.T
	lb      *balancer
	writers []*writer
	stop    chan struct{} // closed when the runs are to end
	work    sync.WaitGroup
}

// gather starts the producers. Readers come with read.
func gather(ctx context.Context, t *testing.T, lb *balancer, producers int) *crowd {
	t.Helper()
	c := &crowd{t: t, lb: lb, stop: make(chan struct{})}
	for i := range producers {
		w := &writer{http: lb.client(), url: balancedURL, chat: fmt.Sprint("chat ", i), over: make(chan struct{})}
		require.NoError(t, w.start(ctx))
		require.NoError(t, w.write(ctx, 1))
		c.writers = append(c.writers, w)
	}
	for _, w := range c.writers {
		c.work.Go(func() {
			if err := w.writeUntil(ctx, c.stop); err != nil {
				t.Errorf("%s: %v", w.chat, err)
			}
		})
	}
	return c
}

// read starts readers of the runs, clients as they are shipped, and waits until each has its
// first frame. Each reads to the end and has to hold exactly what was published.
func (c *crowd) read(ctx context.Context, readers int) {
	c.t.Helper()
	var attached sync.WaitGroup
	for i := range readers {
		w := c.writers[i%len(c.writers)]
		attached.Add(1)
		attach := sync.OnceFunc(attached.Done)
		c.work.Go(func() {
			defer attach()
			client := &consumer.Client{BaseURL: balancedURL, HTTP: c.lb.client(), MaxAttempts: 100,
				Header: http.Header{readerHeader: {strconv.Itoa(i)}}}
			s := client.Watch(ctx, consumer.Watch{ChatID: w.chat})
			defer s.Close()
			o := &harness.Observer{}
			err := o.Until(ctx, s, 1)
			attach()
			if err == nil {
				err = o.ToEnd(ctx, s)
			}
			<-w.over
			if err == nil {
				err = o.Holds(w.acked.Load())
			}
			if err != nil {
				c.t.Errorf("reader %d of %s: %v", i, w.chat, err)
			}
		})
	}
	attached.Wait()
}

// published is how many events have been acknowledged by now.
func (c *crowd) published() (all uint64) {
	for _, w := range c.writers {
		all += w.acked.Load()
	}
	return all
}

// goesOn waits until every producer has had more events acknowledged.
func (c *crowd) goesOn() {
	c.t.Helper()
	before := make([]uint64, len(c.writers))
	for i, w := range c.writers {
		before[i] = w.acked.Load()
	}
	harness.Eventually(c.t, "every producer goes on", func() bool {
		for i, w := range c.writers {
			if w.acked.Load() <= before[i] {
				return false
			}
		}
		return true
	})
}

// end ends the runs and waits until producers and readers have said what they have to.
func (c *crowd) end() {
	close(c.stop)
	c.work.Wait()
}

// writer is a producer over HTTP that repeats what was not acknowledged.
type writer struct {
	http  *http.Client
	url   string
	chat  string
	run   subjects.RunID
	acked atomic.Uint64
	over  chan struct{} // closed once acked stays

	repeats atomic.Int64 // requests that had to be repeated
}

func (w *writer) start(ctx context.Context) error {
	body, err := json.Marshal(map[string]any{"chat_id": w.chat, "client_token": "the only one"})
	if err != nil {
		return err
	}
	var started struct {
		RunID subjects.RunID `json:"run_id"`
	}
	err = w.insist(ctx, "/runs", body, nil, http.StatusCreated, &started)
	w.run = started.RunID
	return err
}

// write publishes the next n events and waits until they are acknowledged.
func (w *writer) write(ctx context.Context, n uint64) error {
	next := w.acked.Load() + 1
	var body []byte
	for i := range n {
		body = append(append(body, harness.Delta(next+i)...), '\n')
	}
	var stored struct {
		LastSeq uint64 `json:"last_seq"`
	}
	header := http.Header{"Rejoin-First-Seq": {strconv.FormatUint(next, 10)}}
	if err := w.insist(ctx, "/runs/"+string(w.run)+"/events", body, header, http.StatusOK, &stored); err != nil {
		return err
	}
	if want := next + n - 1; stored.LastSeq != want {
		return fmt.Errorf("%d events are stored, not %d", stored.LastSeq, want)
	}
	w.acked.Store(stored.LastSeq)
	return nil
}

// writeUntil publishes a few events a second until stop, and then ends the run.
func (w *writer) writeUntil(ctx context.Context, stop <-chan struct{}) error {
	defer close(w.over)
	for {
		select {
		case <-stop:
			return w.insist(ctx, "/runs/"+string(w.run)+"/end", []byte(`{"persisted":true}`), nil, http.StatusOK, nil)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(150*time.Millisecond + rand.N(100*time.Millisecond)):
			if err := w.write(ctx, 2); err != nil {
				return err
			}
		}
	}
}

// insist posts until the answer is the one that is wanted. Relays that go, or have no broker,
// answer 503, or not at all; any other answer is an error.
func (w *writer) insist(ctx context.Context, path string, body []byte, header http.Header, want int, into any) error {
	for {
		status, answer, err := post(ctx, w.http, w.url+path, body, header)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("%s: %w (last: %d %s, %w)", path, ctx.Err(), status, answer, err)
		case err == nil && status == want:
			if into == nil {
				return nil
			}
			return json.Unmarshal(answer, into)
		case err == nil && status != http.StatusServiceUnavailable:
			return fmt.Errorf("%s: %d %s", path, status, answer)
		}
		w.repeats.Add(1)
		time.Sleep(50*time.Millisecond + rand.N(50*time.Millisecond)) // the pace of who repeats
	}
}

func post(ctx context.Context, client *http.Client, url string, body []byte, header http.Header) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// status asks a process a question without a body; 0 says that nobody answered.
func status(ctx context.Context, url string) int {
	c, err := harness.Ask(ctx, http.MethodGet, url, "")
	if err != nil {
		return 0
	}
	_, _ = c.Rest()
	return c.Status
}
