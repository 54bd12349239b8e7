package e2e_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/test/harness"
	"github.com/rejoin/rejoin/test/proxy"
)

// SEAM-03 (a): a reader comes the moment the run is announced, before its first event,
// however long that takes. It is never an error and never 204, and event 1 arrives.
func TestSEAM03_AReaderBeforeTheFirstEvent(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	relays := []*harness.Relay{
		f.Relay(harness.RelayConfig{Relay: relay.Config{KeepAlive: 10 * time.Millisecond}}),
		f.Relay(harness.RelayConfig{Relay: relay.Config{KeepAlive: 10 * time.Millisecond}}),
	}
	p := f.Producer(f.Connect())
	for name, delay := range map[string]func(c *harness.Conn, h *held){
		"none": func(*harness.Conn, *held) {},
		"until the snapshot is there": func(c *harness.Conn, h *held) {
			f := h.frame(t, c)
			require.Equal(t, consumer.Snapshot, f.Type)
			require.Zero(t, f.Seq)
			require.Empty(t, f.Events)
		},
		"until keep-alives have come": func(c *harness.Conn, h *held) {
			h.frame(t, c)
			_, err := c.Peek(10 * len(":\n\n"))
			require.NoError(t, err)
		},
	} {
		for i, r := range relays {
			chat := name + " on relay " + string(rune('1'+i))
			waiting := make(chan *harness.Conn, 1)
			go func() {
				c, err := harness.Ask(t.Context(), http.MethodPost, r.URL+"/chat/live", harness.Live(chat, "wait_ms", 30_000))
				if err != nil {
					t.Error(err)
				}
				waiting <- c
			}()
			harness.Eventually(t, "the reader waits", func() bool { return r.Number("rejoin_waiters") == 1 })
			run := f.Start(p, chat) // this is the announcement
			for _, c := range []*harness.Conn{<-waiting, watch(t, r.URL, harness.Live(chat)),
				watch(t, r.URL, harness.Live(chat, "run_id", run.ID(), "after_seq", 0))} {
				defer c.Close()
				require.Equal(t, http.StatusOK, c.Status)
				require.Equal(t, string(run.ID()), c.Header.Get("Rejoin-Run-Id"))
				if run.LastSeq() == 0 {
					h := &held{}
					delay(c, h)
					f.Publish(run, 1, 1)
					h.until(t, c, 1)
					continue
				}
				h := &held{run: run.ID()}
				h.until(t, c, 1)
				require.Equal(t, []string{string(harness.Delta(1))}, h.events)
			}
		}
	}
}

// SEAM-03 (b): the client that starts a run is cut off before it learns the run's id. It
// asks by the chat alone, and finds the new run and not the one before, which is
// still retained.
func TestSEAM03_CutOffBeforeTheRunIDWasLearned(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	r := f.Relay(harness.RelayConfig{})
	front, url := f.Front(r)
	older := f.Start(r.Producer, "c")
	f.Publish(older, 1, 5)
	finish(t, older, false)
	before := watch(t, r.URL, harness.Live("c"))
	require.Equal(t, string(older.ID()), before.Header.Get("Rejoin-Run-Id"))

	release := front.Hold(proxy.Down) // the answer is on its way and does not arrive
	gone := make(chan error, 1)
	go func() {
		_, err := harness.Ask(t.Context(), http.MethodPost, url+"/runs", `{"chat_id":"c"}`)
		gone <- err
	}()
	harness.Eventually(t, "the run is started", func() bool {
		p, err := r.Store.Pointer(t.Context(), "", "c")
		return err == nil && p.RunID != older.ID()
	})
	front.Cut()
	release()
	require.Error(t, <-gone)

	c := watch(t, url, harness.Live("c"))
	id := c.Header.Get("Rejoin-Run-Id")
	require.NotEqual(t, string(older.ID()), id)
	first, err := c.Next(t.Context())
	require.NoError(t, err)
	require.Zero(t, first.Seq)
	answer := ask(t, http.MethodPost, url+"/runs/"+id+"/events", string(harness.Delta(1))+"\n")
	require.JSONEq(t, `{"accepted":1,"last_seq":1}`, whole(t, answer))
	first, err = c.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, string(harness.Delta(1)), string(first.Event))
}
