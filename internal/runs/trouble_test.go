package runs_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
)

// A trouble is told when it begins, when it becomes another one, now and then, and not
// once it is over.
func TestTroubleIsPaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var trouble runs.Trouble
		_, was := trouble.Over()
		require.False(t, was)
		said := map[string]int{}
		for i := range 100 { // seconds
			what := "begun"
			if i >= 10 {
				what = "worse"
			}
			if trouble.Due(what, 0) {
				said[what]++
			}
			time.Sleep(time.Second)
		}
		require.Equal(t, map[string]int{"begun": 1, "worse": 3}, said, "at 0, and at 10, 40 and 70")
		lasted, was := trouble.Over()
		require.True(t, was)
		require.Equal(t, 100*time.Second, lasted)
		require.True(t, trouble.Due("worse", time.Hour), "it begins anew")
	})
}

// lines is a log that can be waited for.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// While the broker is away, what is asked and stored says just that, and a lease does not
// say it with every attempt.
func TestABrokerThatIsAwayIsSaidInWords(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{Listen: "127.0.0.1:0", StoreDir: t.TempDir()})
	nc, err := f.server.Connect(nats.ReconnectBufSize(-1), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	log := &lines{}
	s, err := runs.Open(t.Context(), nc, runs.Config{Logger: slog.New(slog.NewTextHandler(log, nil))})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	logged := func(text string) func() bool {
		return func() bool { return strings.Contains(log.String(), text) }
	}

	lease := s.NewLease(2 * time.Second)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	renewed := make(chan struct{})
	once := sync.OnceFunc(func() { close(renewed) })
	wg.Go(func() { lease.Run(ctx, func(error) { once() }) })
	t.Cleanup(wg.Wait)
	t.Cleanup(stop)
	<-renewed // the next attempt is half a second away
	f.server.Stop()
	require.Eventually(t, func() bool { return !nc.IsConnected() }, patience, time.Millisecond)

	id := s.NewRunID()
	for what, err := range map[string]error{
		"storing": s.Ping(t.Context()),
		"asking":  func() error { _, err := s.Last(t.Context(), id); return err }(),
		"reading": func() error { _, err := s.Page(t.Context(), id, 0); return err }(),
	} {
		require.ErrorIs(t, err, runs.ErrNotConnected, what)
		require.ErrorIs(t, err, nats.ErrReconnectBufExceeded, what)
		require.ErrorContains(t, err, "not connected to the broker", what)
		require.NotContains(t, err.Error(), "outbound", what)
	}
	require.Eventually(t, logged("lease not held any more"), patience, time.Millisecond)
	require.LessOrEqual(t, strings.Count(log.String(), "lease not renewed"), 1)
	require.NotContains(t, log.String(), "outbound")

	require.NoError(t, f.server.Restart())
	require.Eventually(t, logged("lease renewed again"), patience, time.Millisecond)
	require.True(t, lease.Held())
}

// An error that means something else keeps its words.
func TestOtherErrorsKeepTheirWords(t *testing.T) {
	t.Parallel()
	other := errors.New("other")
	require.Equal(t, other, runs.NotConnected(other))
	require.NoError(t, runs.NotConnected(nil))
}
