package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// SEAM-01: readers attach over HTTP at 300 random moments of a run whose writer does
// not wait for them, on one of two relays. Snapshot and events are all that was
// published, each once.
func TestSEAM01_PublishingNeverWaitsForAHandshake(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	relays := []*harness.Relay{f.Relay(harness.RelayConfig{}), f.Relay(harness.RelayConfig{})}
	run := f.Start(f.Producer(f.Connect()), "c")
	ctx := bounded(t)
	const handshakes, between = 300, 20
	var readers sync.WaitGroup
	seq := uint64(0)
	for i := range handshakes {
		rnd := rand.New(rand.NewPCG(uint64(i), 1))
		url, open := relays[i%2].URL, attach(i%4, rnd.Uint64N(seq+1))
		readers.Go(func() {
			if err := open(ctx, url, 100); err != nil {
				t.Errorf("reader %d: %v", i, err)
			}
		})
		for range rnd.IntN(2 * between) {
			seq++
			_, err := run.Publish(ctx, harness.Delta(seq))
			require.NoError(t, err)
		}
	}
	finish(t, run, false)
	readers.Wait()
}

// attach is one of four ways to begin: with a snapshot, from a cursor, as EventSource
// does, and on the legacy wire. The reader stays for some events or until the end.
func attach(way int, after uint64) func(ctx context.Context, url string, stay uint64) error {
	return func(ctx context.Context, url string, stay uint64) error {
		method, path, body := http.MethodPost, "/chat/live", harness.Live("c")
		o := &harness.Observer{}
		switch way {
		case 1, 2:
			c, err := insist(ctx, method, url+path, body) // whose run it is
			if err != nil {
				return err
			}
			id := c.Header.Get("Rejoin-Run-Id")
			c.Close()
			o = harness.At(subjects.RunID(id), after)
			body = harness.Live("c", "run_id", id, "after_seq", after)
			if way == 2 {
				method, path, body = http.MethodGet, fmt.Sprintf("/chat/live?chat_id=c&run_id=%s&after_seq=%d", id, after), ""
			}
		case 3:
			body = `{"chat_id":"c"}`
		}
		c, err := insist(ctx, method, url+path, body)
		if err != nil {
			return err
		}
		defer c.Close()
		if way == 3 {
			return stayLegacy(c, stay)
		}
		if err := o.Until(ctx, c, o.Seq+1); err != nil {
			return err
		}
		if err := o.Until(ctx, c, o.Seq+stay); err != nil {
			return err
		}
		return o.Holds(o.Seq)
	}
}

// insist asks again for as long as the relay is too busy, as it tells its clients to.
func insist(ctx context.Context, method, url, body string) (*harness.Conn, error) {
	for {
		c, err := harness.Ask(ctx, method, url, body)
		if err != nil || c.Status == http.StatusOK {
			return c, err
		}
		answer, _ := c.Rest()
		if c.Status != http.StatusServiceUnavailable || ctx.Err() != nil {
			return nil, fmt.Errorf("HTTP %d: %s", c.Status, answer)
		}
	}
}

// stayLegacy reads some events of numbered text on the legacy wire, or all.
func stayLegacy(c *harness.Conn, stay uint64) error {
	var said strings.Builder
	for range stay {
		m, err := c.Message()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		var e agui.Event
		if err := agui.Scan(m.Data, &e); err != nil {
			return err
		}
		said.Write(e.Delta())
	}
	if text := said.String(); text != harness.Text(20_000)[:len(text)] {
		return fmt.Errorf("the legacy wire said %.80q…", text)
	}
	return nil
}

// SEAM-01: 1, 10 and 500 events are published while a reader stands still at a step of
// its handshake, with a snapshot of 10 MiB and with a small one.
func TestSEAM01_EventsPublishedAtEachStep(t *testing.T) {
	t.Parallel()
	for name, values := range map[string]int{"small": 1, "10 MiB": 40} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atEachStep(t, values)
		})
	}
}

// atEachStep publishes so many values of 256 KiB first.
func atEachStep(t *testing.T, values int) {
	f := harness.New(t, harness.Config{})
	link := f.Connect()
	run := f.Start(f.Producer(link), "c")
	var want []string
	add := func(n int, value string) {
		for range n {
			want = append(want, fmt.Sprintf(`{"type":"CUSTOM","name":"result %d","value":%q}`, len(want), value))
		}
		publish(t, run, want[len(want)-n:]...)
	}
	add(values, strings.Repeat("x", 256<<10))
	harness.Eventually(t, "the last checkpoint", func() bool {
		e, err := link.Store.Entry(t.Context(), run.ID())
		return err == nil && e.Seq == uint64(len(want))
	})
	add(1, "something to read from the log")
	add(1, "for the newest record is read by itself")

	// The log is read first: later a checkpoint may come and leave nothing there.
	for _, c := range []struct {
		at step // "" means that the first byte of the snapshot has arrived
		n  int
	}{{logRead, 1}, {logRead, 400}, {subscribed, 1}, {subscribed, 10}, {subscribed, 500},
		{snapshotBuilt, 1}, {snapshotBuilt, 500}, {"", 1}, {"", 500}} {
		if values > 1 && c.n < 400 {
			continue
		}
		g := newGate(t, c.at)
		relay := f.Relay(harness.RelayConfig{Steps: g.steps()})
		conn := watch(t, relay.URL, harness.Live("c"))
		if c.at != "" {
			g.wait()
		} else {
			_, err := conn.Peek(len(":\n\n") + 1)
			require.NoError(t, err)
		}
		add(c.n, "")
		g.open()
		h := &held{}
		h.until(t, conn, uint64(len(want)))
		require.Equal(t, 1, h.snapshots)
		require.True(t, slices.Equal(want, h.events), "%q %d", c.at, c.n)
		conn.Close()
		relay.Stop()
	}
	finish(t, run, false)
}
