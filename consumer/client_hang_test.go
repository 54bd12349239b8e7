package consumer_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
)

// waits answers 204 when the wait asked for is over.
func (r *relay) waits(w http.ResponseWriter, req *http.Request) {
	asked := r.requests()
	select {
	case <-time.After(time.Duration(asked[len(asked)-1].WaitMS) * time.Millisecond):
		w.WriteHeader(http.StatusNoContent)
	case <-req.Context().Done():
	}
}

func TestHANG02_AnIdleChat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRelay(t, idle)
		_, frames, err := drain(t, r.watch(consumer.Watch{}))
		require.ErrorIs(t, err, consumer.ErrIdle)
		require.Empty(t, frames)
		require.Equal(t, []request{{ChatID: "c1", Protocol: 1}}, timeless(r.requests()))
	})
	synctest.Test(t, func(t *testing.T) { // five minutes, in waits as long as a relay allows
		r := newRelay(t)
		r.script = []answer{r.waits}
		_, _, err := drain(t, r.watch(consumer.Watch{Wait: 5 * time.Minute}))
		require.ErrorIs(t, err, consumer.ErrIdle)
		require.Len(t, r.requests(), 10)
		require.InDelta(t, 5*time.Minute, time.Since(r.started), float64(time.Second))
	})
	synctest.Test(t, func(t *testing.T) { // in shorter ones, where a proxy makes a relay less patient: without a pause
		r := newRelay(t)
		r.script = []answer{func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(15 * time.Second)
			w.WriteHeader(http.StatusNoContent)
		}}
		_, _, err := drain(t, r.watch(consumer.Watch{Wait: 5 * time.Minute}))
		require.ErrorIs(t, err, consumer.ErrIdle)
		require.Len(t, r.requests(), 20)
	})
	synctest.Test(t, func(t *testing.T) { // a run that appears at last
		r := newRelay(t)
		r.script = []answer{r.waits, r.waits, r.rest("r1", 3)}
		v, _, err := drain(t, r.watch(consumer.Watch{Wait: 70 * time.Second}))
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, upTo(3), string(v.Events()))
		require.EqualValues(t, 10_000, r.requests()[2].WaitMS)
	})
	synctest.Test(t, func(t *testing.T) { // trouble while waiting does not use the wait up
		r := newRelay(t)
		r.script = []answer{status(503, "Retry-After", "5"), r.waits}
		_, _, err := drain(t, r.watch(consumer.Watch{Wait: 20 * time.Second}))
		require.ErrorIs(t, err, consumer.ErrIdle)
		require.InDelta(t, 20*time.Second, time.Since(r.started), float64(time.Second))
	})
}

func TestHANG02_A204AfterTheStartMeansUnavailable(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]consumer.Watch{
		"dropped in mid-run":  {},
		"patient":             {Wait: time.Minute},
		"back with a cursor":  {RunID: "r1", AfterSeq: new(uint64(1))},
		"back with a run":     {RunID: "r1"},
		"cursor at the start": {RunID: "r1", AfterSeq: new(uint64(0))},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRelay(t, stream(snapshot("r1", 1, upTo(1)), event("r1", 2), cut{}), idle)
			if w.RunID != "" {
				r.script = r.script[1:]
			}
			_, _, err := drain(t, r.watch(w))
			require.ErrorIs(t, err, consumer.ErrUnavailable, name)
			require.NotErrorIs(t, err, io.EOF, name)
			require.Len(t, r.requests(), len(r.script), name)
		})
	}
}

// Over HTTP/1.1 in a bubble: what returns at once returns at the same instant.
func TestHANG03_CancelAndCloseEndABlockedRead(t *testing.T) {
	t.Parallel()
	silent := func(freed chan struct{}) answer {
		return func(w http.ResponseWriter, r *http.Request) {
			stream(snapshot("r1", 1, upTo(1)))(w, r)
			<-r.Context().Done()
			close(freed)
		}
	}
	for name, stop := range map[string]struct {
		do   func(s *consumer.Stream, watch, next context.CancelFunc)
		want error
	}{
		"Close":            {func(s *consumer.Stream, _, _ context.CancelFunc) { _ = s.Close() }, consumer.ErrClosed},
		"the watch's ctx":  {func(_ *consumer.Stream, watch, _ context.CancelFunc) { watch() }, context.Canceled},
		"the call's ctx":   {func(_ *consumer.Stream, _, next context.CancelFunc) { next() }, context.Canceled},
		"both, then Close": {func(s *consumer.Stream, watch, next context.CancelFunc) { next(); watch(); _ = s.Close() }, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			freed := make(chan struct{})
			r := newRelay(t, silent(freed))
			watch, cancelWatch := context.WithCancel(t.Context())
			next, cancelNext := context.WithCancel(t.Context())
			defer cancelWatch()
			defer cancelNext()
			s := r.client.Watch(watch, consumer.Watch{ChatID: "c1"})
			_, err := s.Next(next)
			require.NoError(t, err)
			go func() {
				time.Sleep(20 * time.Second)
				stop.do(s, cancelWatch, cancelNext)
			}()
			_, err = s.Next(next)
			require.Error(t, err, name)
			if stop.want != nil {
				require.ErrorIs(t, err, stop.want, name)
			}
			require.Equal(t, 20*time.Second, time.Since(r.started), name)
			<-freed
			require.Equal(t, 20*time.Second, time.Since(r.started), "%s: the server is free at once", name)
			require.NoError(t, s.Close())
		})
	}
}

func TestHANG03_EveryOtherWaitEndsToo(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]answer{
		"for a run to appear": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"between attempts":    status(503, "Retry-After", "50"),
		"for an explanation": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(404)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
	} {
		for how, stop := range map[string]func(s *consumer.Stream, next context.CancelFunc) error{
			"Close":          func(s *consumer.Stream, _ context.CancelFunc) error { _ = s.Close(); return consumer.ErrClosed },
			"the call's ctx": func(_ *consumer.Stream, next context.CancelFunc) error { next(); return context.Canceled },
		} {
			synctest.Test(t, func(t *testing.T) {
				r := newRelay(t, script)
				s := r.watch(consumer.Watch{Wait: time.Minute})
				next, cancel := context.WithCancel(t.Context())
				defer cancel()
				want := make(chan error, 1)
				go func() {
					time.Sleep(5 * time.Second)
					want <- stop(s, cancel)
				}()
				_, err := s.Next(next)
				require.ErrorIs(t, err, <-want, name, how)
				require.Equal(t, 5*time.Second, time.Since(r.started), "%s, %s", name, how)
			})
		}
	}
}

func TestHANG03_ACallThatWaitsForItsTurnCanBeGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRelay(t, stream(time.Minute))
		s := r.watch(consumer.Watch{})
		go func() { _, _ = s.Next(context.Background()) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.Next(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(r.started))
	})
}

// Over real sockets, with both versions of HTTP. That nothing is left behind is
// what TestMain checks.
func TestHANG03_OverRealConnections(t *testing.T) {
	t.Parallel()
	for _, version := range []int{1, 2} {
		freed := make(chan int, 3)
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			stream(snapshot("r1", 1, upTo(1)))(w, r)
			<-r.Context().Done()
			freed <- r.ProtoMajor
		}))
		srv.EnableHTTP2 = version == 2
		srv.StartTLS()
		c := &consumer.Client{BaseURL: srv.URL, HTTP: srv.Client()}
		for _, stop := range []func(*consumer.Stream, context.CancelFunc){
			func(s *consumer.Stream, _ context.CancelFunc) { _ = s.Close() },
			func(_ *consumer.Stream, cancel context.CancelFunc) { cancel() },
		} {
			ctx, cancel := context.WithCancel(t.Context())
			s := c.Watch(ctx, consumer.Watch{ChatID: "c1"})
			_, err := s.Next(ctx)
			require.NoError(t, err)
			ended := make(chan error, 1)
			go func() {
				_, err := s.Next(context.Background())
				ended <- err
			}()
			stop(s, cancel)
			select {
			case err := <-ended:
				require.Error(t, err)
			case <-time.After(10 * time.Second):
				t.Fatal("Next did not return")
			}
			select {
			case got := <-freed:
				require.Equal(t, version, got)
			case <-time.After(10 * time.Second):
				t.Fatal("the server's handler was not freed")
			}
			cancel()
			require.NoError(t, s.Close())
		}
		srv.Close()
	}
}

func TestACallGivenUpLosesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRelay(t)
		r.script = []answer{stream(snapshot("r1", 1, upTo(1)), time.Hour), r.rest("r1", 3)}
		s := r.watch(consumer.Watch{})
		v := &consumer.View{}
		f, err := s.Next(t.Context())
		require.NoError(t, err)
		require.NoError(t, v.Apply(f))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = s.Next(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, "EEZ", types(drainInto(t, s, v)))
		require.Equal(t, upTo(3), string(v.Events()))
		require.Equal(t, time.Second, r.requests()[1].at, "giving up is no failure to be waited for")
	})
}

func TestASilentConnectionIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRelay(t)
		alive := []any{snapshot("r1", 1, upTo(1))}
		for range 8 { // comments count: two minutes without a frame are fine
			alive = append(alive, 15*time.Second, ":\n\n")
		}
		r.script = []answer{stream(append(alive, time.Hour)...), r.rest("r1", 2)}
		_, frames, err := drain(t, r.watch(consumer.Watch{}))
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, "SEZ", types(frames))
		gone := 8*15*time.Second + 45*time.Second
		require.GreaterOrEqual(t, r.requests()[1].at, gone)
		require.LessOrEqual(t, r.requests()[1].at, gone+r.client.Backoff.Ceiling(0))
	})
	synctest.Test(t, func(t *testing.T) { // a slow application is no silence
		r := newRelay(t, stream(snapshot("r1", 1, upTo(1)), event("r1", 2), end("r1", 2)))
		s := r.watch(consumer.Watch{})
		for range 3 {
			_, err := s.Next(t.Context())
			require.NoError(t, err)
			time.Sleep(time.Hour)
		}
		require.Len(t, r.requests(), 1)
	})
	synctest.Test(t, func(t *testing.T) { // no answer at all
		r := newRelay(t, func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() })
		_, _, err := drain(t, r.watch(consumer.Watch{}))
		require.ErrorIs(t, err, consumer.ErrInterrupted)
		require.ErrorIs(t, err, consumer.ErrTimeout)
		require.Len(t, r.requests(), 5)
		require.GreaterOrEqual(t, r.requests()[1].at, 15*time.Second)
	})
}
