package runs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

func input(n int) runs.Control {
	return runs.Control{Kind: runs.ControlInput, ID: fmt.Sprint(n), Body: fmt.Appendf(nil, `{"n":%d}`, n)}
}

// Of fifty that want one place, one gets it, and all are told which.
func TestAPP03_OneControlHasAPlace(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	stores := []*runs.Store{f.store, f.open(runs.Config{})}
	id := f.store.NewRunID() // no producer, no entry: a control does not wait for them
	var mu sync.Mutex
	won, told := 0, map[string]int{}
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			c := runs.Control{Kind: runs.ControlAnswer, ID: "a.b*>é\n", Body: fmt.Appendf(nil, `{"i":%d}`, i)}
			if i%10 == 9 {
				c.Body, c.Closed, c.Reason = nil, true, "r"
			}
			winner, mine, err := stores[i%2].PutControl(t.Context(), id, c)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if mine {
				won++
			}
			told[fmt.Sprint(string(winner.Body), winner.Closed, winner.Seq)]++
		})
	}
	wg.Wait()
	require.Equal(t, 1, won)
	require.Len(t, told, 1)
	got, err := f.store.Control(t.Context(), id, runs.ControlAnswer, "a.b*>é\n")
	require.NoError(t, err)
	require.Equal(t, 50, told[fmt.Sprint(string(got.Body), got.Closed, got.Seq)])
	_, err = f.store.Control(t.Context(), id, runs.ControlAnswer, "a_b")
	require.ErrorIs(t, err, runs.ErrNotFound)
	_, _, err = f.store.PutControl(t.Context(), id, runs.Control{Kind: runs.ControlAnswer, ID: strings.Repeat("x", 257)})
	require.ErrorIs(t, err, subjects.ErrTooLong)
	_, _, err = f.store.PutControl(t.Context(), id, runs.Control{Kind: runs.ControlInput, ID: "1", Body: json.RawMessage(`"` + strings.Repeat("x", 2<<20) + `"`)})
	require.ErrorIs(t, err, nats.ErrMaxPayload, "and at once")
	body := json.RawMessage(`"` + strings.Repeat("<", f.store.MaxControlBody()-2) + `"`)
	_, won1, err := f.store.PutControl(t.Context(), id, runs.Control{Kind: runs.ControlInput, ID: "1", Body: body})
	require.NoError(t, err)
	require.True(t, won1)
}

// The answer that a control is stored is lost: whoever sent it learns that it was theirs.
func TestDUP04_LostAckOfAControl(t *testing.T) {
	t.Parallel()
	d := newDistant(t)
	id := d.NewRunID()
	stored := func(kind runs.ControlKind, of string) func() bool {
		return func() bool { _, err := d.f.store.Control(t.Context(), id, kind, of); return err == nil }
	}
	require.NoError(t, d.unanswered(stored(runs.ControlStop, ""), func() error {
		_, won, err := d.PutControl(t.Context(), id, runs.Control{Kind: runs.ControlStop, Reason: "mine"})
		if err == nil && !won {
			err = fmt.Errorf("it was ours")
		}
		return err
	}))
	theirs := input(1)
	theirs.Body = json.RawMessage(`{"theirs":true}`)
	_, _, err := d.f.store.PutControl(t.Context(), id, theirs)
	require.NoError(t, err)
	require.NoError(t, d.unanswered(d.sent(), func() error {
		winner, won, err := d.PutControl(t.Context(), id, input(1))
		if err == nil && (won || string(winner.Body) != `{"theirs":true}`) {
			err = fmt.Errorf("it was theirs: %v", winner)
		}
		return err
	}))
}

// watched gathers what a watch gives, until the context is done.
type watched struct {
	mu  sync.Mutex
	got []runs.Control
}

func watch(t *testing.T, s *runs.Store, id subjects.RunID, after uint64) (w *watched, stop func()) {
	t.Helper()
	w = &watched{}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		err := s.WatchControls(ctx, id, after, func(c runs.Control) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.got = append(w.got, c)
		})
		if err != nil {
			t.Error(err)
		}
	})
	return w, func() {
		cancel()
		wg.Wait()
	}
}

func (w *watched) list() []runs.Control {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.got[:len(w.got):len(w.got)]
}

func (w *watched) wait(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return len(w.list()) >= n }, patience, time.Millisecond)
}

// Each once and in order: those from before, those that come, those of a cut connection.
func TestControlsAreWatchedThroughCuts(t *testing.T) {
	t.Parallel()
	d := newDistant(t)
	id, other := d.NewRunID(), d.NewRunID()
	put := func(n int) {
		for _, run := range []subjects.RunID{other, id} {
			_, won, err := d.f.store.PutControl(t.Context(), run, input(n))
			require.NoError(t, err)
			require.True(t, won)
		}
	}
	for n := 1; n <= 5; n++ {
		put(n)
	}
	w, stop := watch(t, d.Store, id, 0)
	defer stop()
	w.wait(t, 5)
	for n := 6; n <= 60; n++ {
		if n%20 == 10 {
			d.proxy.Refuse(true)
			d.proxy.Cut()
		}
		put(n)
		if n%20 == 15 {
			d.proxy.Refuse(false)
		}
	}
	w.wait(t, 60)
	_, _, err := d.f.store.PutControl(t.Context(), id, runs.Control{Kind: runs.ControlStop})
	require.NoError(t, err)
	w.wait(t, 61)
	all := w.list()
	require.Len(t, all, 61)
	for i, c := range all[:60] {
		require.Equal(t, i+1, c.Input())
		require.JSONEq(t, fmt.Sprintf(`{"n":%d}`, i+1), string(c.Body))
	}
	require.Equal(t, runs.ControlStop, all[60].Kind)

	// From the middle on.
	late, stop := watch(t, d.f.store, id, all[49].Seq)
	defer stop()
	late.wait(t, 11)
	require.Equal(t, 51, late.list()[0].Input())
}

func TestControlsAreWatchedThroughABrokerRestart(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{Listen: "127.0.0.1:0", StoreDir: t.TempDir()})
	nc, err := f.server.Connect(nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	s, err := runs.Open(t.Context(), nc, runs.Config{})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	id := s.NewRunID()
	w, stop := watch(t, s, id, 0)
	defer stop()
	for n := 1; n <= 30; n++ {
		if n%10 == 5 {
			require.NoError(t, f.server.Restart())
		}
		_, won, err := s.PutControl(t.Context(), id, input(n))
		require.NoError(t, err)
		require.True(t, won)
	}
	w.wait(t, 30)
	for i, c := range w.list() {
		require.Equal(t, i+1, c.Input())
	}
	require.Len(t, w.list(), 30)
}

// A question may have any id: no live control is taken for another kind.
func TestControlsOfAnyName(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	id := f.store.NewRunID()
	w, stop := watch(t, f.store, id, 0)
	defer stop()
	_, _, err := f.store.PutControl(t.Context(), id, input(1))
	require.NoError(t, err)
	w.wait(t, 1)
	names := []string{"ended", "stop", "answer.ended", string(id), ".", " ", "a." + string(id) + ".b"}
	for _, name := range names {
		_, _, err := f.store.PutControl(t.Context(), id, runs.Control{Kind: runs.ControlAnswer, ID: name, Body: json.RawMessage(`{}`)})
		require.NoError(t, err)
	}
	w.wait(t, 1+len(names))
	for i, c := range w.list()[1:] {
		require.Equal(t, runs.ControlAnswer, c.Kind)
		require.Equal(t, names[i], c.ID)
	}
	f.store.TellEnded(id)
	w.wait(t, 2+len(names))
	require.Equal(t, runs.ControlEnded, w.list()[1+len(names)].Kind)
}

func TestInputsAreClosedOnce(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	id := f.store.NewRunID()
	for n := 1; n <= 3; n++ {
		_, _, err := f.store.PutControl(t.Context(), id, input(n))
		require.NoError(t, err)
	}
	missed, err := f.store.CloseInputs(t.Context(), id, 1)
	require.NoError(t, err)
	require.Len(t, missed, 2)
	require.Equal(t, 2, missed[0].Input())
	missed, err = f.store.CloseInputs(t.Context(), id, 3)
	require.NoError(t, err)
	require.Empty(t, missed)
	c, won, err := f.store.PutControl(t.Context(), id, input(4))
	require.NoError(t, err)
	require.False(t, won)
	require.True(t, c.Closed)
}
