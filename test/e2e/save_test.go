package e2e_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// A save that fails, panics, is cancelled or hangs. While it runs its observers get
// keep-alives and no end; then the end says that the result was not saved, by every
// route, and the run stays to be read.
func TestASaveThatDoesNotSucceed(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	r := f.Relay(harness.RelayConfig{Relay: relay.Config{KeepAlive: 10 * time.Millisecond}})
	for name, c := range map[string]struct {
		save    func(ctx context.Context, cancel func(), proceed <-chan struct{}) error
		timeout time.Duration
	}{
		"fails": {save: func(_ context.Context, _ func(), proceed <-chan struct{}) error {
			<-proceed
			return errors.New("disk full")
		}},
		"panics": {save: func(_ context.Context, _ func(), proceed <-chan struct{}) error {
			<-proceed
			panic("no such table")
		}},
		"is cancelled": {save: func(ctx context.Context, cancel func(), proceed <-chan struct{}) error {
			<-proceed
			cancel()
			<-ctx.Done()
			return ctx.Err()
		}},
		"hangs until its time is over": {timeout: 6 * time.Second, save: func(ctx context.Context, _ func(), _ <-chan struct{}) error {
			<-ctx.Done()
			return ctx.Err()
		}},
		"hangs for ever": {timeout: 6 * time.Second, save: func(context.Context, func(), <-chan struct{}) error {
			<-t.Context().Done() // it does not even look at its own
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run, events := f.Start(f.Producer(f.Connect()), name), turn(name)
			publish(t, run, events...)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			saving, proceed := make(chan struct{}), make(chan struct{})
			finished := make(chan error, 1)
			go func() {
				end, err := run.Finish(ctx, producer.FinishOptions{SaveTimeout: c.timeout, Save: func(ctx context.Context) error {
					close(saving)
					return c.save(ctx, cancel, proceed)
				}})
				if err == nil && end != (subjects.End{Reason: subjects.ReasonSaveFailed}) {
					err = errors.New("finished with " + string(end.Reason))
				}
				finished <- err
			}()
			<-saving
			here, conn := &held{}, watch(t, r.URL, harness.Live(name))
			cursor, resumed := from(run.ID(), events), watch(t, r.URL, harness.Live(name, "run_id", run.ID(), "after_seq", len(events)))
			here.until(t, conn, uint64(len(events)))
			for _, waiting := range []*harness.Conn{conn, resumed} {
				comments, err := waiting.Peek(3 * len(":\n\n"))
				require.NoError(t, err)
				require.Equal(t, ":\n\n:\n\n:\n\n", string(comments))
			}
			if c.timeout == 0 {
				require.Nil(t, poll(t, r.URL, run.ID()).end)
			}
			close(proceed)
			require.NoError(t, <-finished)
			want := subjects.End{Reason: subjects.ReasonSaveFailed}
			for h, c := range map[*held]*harness.Conn{here: conn, cursor: resumed, {}: watch(t, r.URL, harness.Live(name))} {
				require.Equal(t, want, *h.toEnd(t, c).end)
				require.Equal(t, reduce(events), h.state())
			}
			byEveryRoute(t, r.URL, name, run.ID(), reduce(events), want)
			require.Equal(t, http.StatusOK, ask(t, http.MethodGet, r.URL+"/chat/live?"+query("chat_id", name), "").Status)
		})
	}
}

// On the legacy wire there is no end to say so: without a terminal event of the agent's
// own, a result that was not saved is an error.
func TestASaveThatFailsOnTheLegacyWire(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	r := f.Relay(harness.RelayConfig{})
	for chat, terminal := range map[string]bool{"with a terminal event": true, "without": false} {
		run, events := f.Start(r.Producer, chat), turn(chat)
		if !terminal {
			events = events[:len(events)-1]
		}
		publish(t, run, events...)
		live := watch(t, r.URL, `{"chat_id":`+quoted(chat)+`}`)
		_, err := run.Finish(t.Context(), producer.FinishOptions{Save: func(context.Context) error { return errors.New("no") }})
		require.NoError(t, err)
		for _, c := range []*harness.Conn{live, watch(t, r.URL, `{"chat_id":`+quoted(chat)+`}`)} {
			got := legacyEvents(t, c)
			if !terminal {
				require.Contains(t, got[len(got)-1], `"code":"save_failed"`)
				require.Contains(t, got[len(got)-1], `"type":"RUN_ERROR"`)
				got = got[:len(got)-1]
			}
			require.Equal(t, reduce(events), reduce(got))
		}
	}
}
