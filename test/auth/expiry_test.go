package auth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// feed publishes one event after the other into a run over HTTP, until stop is called,
// which ends the run and gives how many they were. It has a fresh token for each.
func (w *world) feed(of target) (stop func() int) {
	w.Helper()
	client := w.http()
	over := make(chan struct{})
	n := 0
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(10 * time.Millisecond):
			}
			req, err := http.NewRequest(http.MethodPost, w.url+"/runs/"+of.run+"/events", strings.NewReader(delta(n+1)))
			if err != nil {
				w.Error(err)
				return
			}
			req.Header.Set("Authorization", "Bearer "+w.token(service))
			req.Header.Set("Rejoin-First-Seq", strconv.Itoa(n+1)) // sent again where it was refused
			resp, err := client.Do(req)
			if err != nil {
				w.Error(err)
				return
			}
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				n++
			}
		}
	})
	return func() int {
		close(over)
		wg.Wait()
		w.want(http.StatusOK, w.token(service), http.MethodPost, "/runs/"+of.run+"/end", body("persisted", true), nil)
		return n
	}
}

// follower watches a run with the Go client, and holds what it is given against what was
// published: every event once, in order.
type follower struct {
	stream *consumer.Stream
	seq    atomic.Uint64
	snaps  int
	tokens atomic.Int64 // how often a token was asked for
	done   chan error
}

func (w *world) follow(of target, token func(context.Context) (string, error)) *follower {
	w.Helper()
	f := &follower{done: make(chan error, 1)}
	client := &consumer.Client{BaseURL: w.url, HTTP: w.http(), Logger: slog.New(slog.NewTextHandler(w.log, nil)),
		Token: func(ctx context.Context) (string, error) {
			f.tokens.Add(1)
			return token(ctx)
		}}
	zero := uint64(0)
	f.stream = client.Watch(w.Context(), consumer.Watch{ChatID: of.chat, RunID: subjects.RunID(of.run), AfterSeq: &zero})
	go func() { f.done <- f.read(w.Context()) }()
	w.Cleanup(func() { _ = f.stream.Close() })
	return f
}

func (f *follower) read(ctx context.Context) error {
	for {
		frame, err := f.stream.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch frame.Type {
		case consumer.Snapshot:
			f.snaps++
		case consumer.Event:
			if want := f.seq.Load() + 1; frame.Seq != want || !strings.Contains(string(frame.Event), fmt.Sprintf(`"%d `, want)) {
				return fmt.Errorf("seq %d with %s, want %d", frame.Seq, frame.Event, want)
			}
			f.seq.Store(frame.Seq)
		}
	}
}

// ends wants the follower to reach the end of a run of n events without a snapshot.
func (f *follower) ends(t *testing.T, n int) {
	t.Helper()
	select {
	case err := <-f.done:
		require.NoError(t, err)
	case <-time.After(harness.Patience):
		t.Fatalf("the follower is at %d of %d", f.seq.Load(), n)
	}
	require.EqualValues(t, n, f.seq.Load())
	require.Zero(t, f.snaps, "its cursor was good all the time")
}

// session makes a source of resume tokens, as an application's page has it.
func (w *world) session(by who, of target) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return w.resume(by, of), nil }
}

// empty is a chat with a run that has no event yet.
func (w *world) empty(by who) target {
	w.Helper()
	chat := fresh()
	return target{chat, w.produce(by, chat)}
}

func short(ttl time.Duration) func(*app.Config) {
	return func(c *app.Config) { c.Auth.Resume.TTL = ttl }
}

// closed is how many streams were closed for their credential.
func (w *world) closed() (n int) {
	w.Helper()
	for line := range strings.Lines(w.do("", http.MethodGet, "/metrics", "").body) {
		if _, err := fmt.Sscanf(line, `rejoin_streams_closed_total{cause="expired"} %d`, &n); err == nil {
			return n
		}
	}
	w.Fatal("there is no number of it")
	return 0
}

// AUTH-02: the run goes on for many lives of a resume token. The stream is cut each time;
// the client gets one fresh token for it, and goes on at its cursor without a repeat.
func TestAUTH02AStreamOutlivesManyTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t, short(4*time.Second)) // none expires on its way
	run := w.empty(ann)
	stop := w.feed(run)
	f := w.follow(run, w.session(ann, run))
	harness.Eventually(w, "three lives", func() bool { return w.closed() >= 3 })
	n := stop()
	f.ends(t, n)
	require.LessOrEqual(t, f.tokens.Load(), int64(w.closed()+1), "at most one for each cut")
	require.GreaterOrEqual(t, f.tokens.Load(), int64(3))
	require.Contains(t, w.log.String(), "cause=expired")
}

// AUTH-02: a token that has expired is refused with the cursor too, as 401 and never as an
// end, and a fresh one goes on there.
func TestAUTH02AnExpiredTokenIsNoEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, short(4*time.Second))
	run := target{fresh(), ""}
	run.run = w.produce(ann, run.chat, delta(1), delta(2))
	old := w.resume(ann, run)
	cursor := harness.Live(run.chat, "run_id", run.run, "after_seq", 1)
	var a answer
	harness.Eventually(w, "it has expired", func() bool {
		a = w.do(old, http.MethodPost, "/chat/live", cursor)
		return a.status != http.StatusOK
	})
	require.Equal(t, http.StatusUnauthorized, a.status)
	require.Equal(t, "token_expired", a.code())
	c, err := harness.Ask(t.Context(), http.MethodPost, w.url+"/chat/live", cursor, as(w.resume(ann, run))...)
	require.NoError(t, err)
	defer c.Close()
	f, err := c.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, consumer.Event, f.Type)
	require.EqualValues(t, 2, f.Seq)
}

// AUTH-02: the key is withdrawn while streams are open, those with a token of its own and
// those with a resume token that rests on one.
func TestAUTH02AWithdrawnKeyEndsItsStreams(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	run := w.empty(ann)
	next := newKey("k2")
	before := w.token(ann)
	resume := w.resume(ann, run)
	stop := w.feed(run)
	var rotated atomic.Bool
	f := w.follow(run, func(context.Context) (string, error) {
		if rotated.Load() {
			return w.sign(next, claims(ann, nil)), nil
		}
		return before, nil
	})
	resumed, err := harness.Ask(t.Context(), http.MethodPost, w.url+"/chat/live", harness.Live(run.chat), as(resume)...)
	require.NoError(t, err)
	defer resumed.Close()
	harness.Eventually(w, "it is under way", func() bool { return f.seq.Load() > 10 })

	rotated.Store(true)
	w.trust(w.issuer(), next) // first both, as one rotates
	harness.Eventually(w, "the next key is known", func() bool {
		return w.do(w.sign(next, claims(ann, nil)), http.MethodGet, "/runs/"+run.run, "").status == http.StatusOK
	})
	w.want(http.StatusOK, before, http.MethodGet, "/runs/"+run.run, "", nil)
	require.Zero(t, w.closed(), "the old one is good still")
	withdrawn := w.signs(next)
	w.trust(next)
	for err == nil {
		_, err = resumed.Next(t.Context())
	}
	require.ErrorIs(t, err, io.EOF, "between frames")
	require.Positive(t, resumed.Retry())
	harness.Eventually(w, "both are cut", func() bool { return w.closed() == 2 })
	f.ends(t, stop())
	for _, token := range []string{before, resume, w.sign(withdrawn, claims(ann, nil))} {
		a := w.do(token, http.MethodPost, "/chat/live", harness.Live(run.chat, "run_id", run.run))
		require.Equal(t, http.StatusUnauthorized, a.status)
		require.Equal(t, "invalid_token", a.code())
	}
}

// AUTH-02: getting a fresh token fails twice, then works. Each failure is one attempt, and
// the stream goes on where it was.
func TestAUTH02ARefreshThatFailsAtFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t, short(4*time.Second))
	run := w.empty(ann)
	stop := w.feed(run)
	good := w.session(ann, run)
	var calls atomic.Int64
	f := w.follow(run, func(ctx context.Context) (string, error) {
		if n := calls.Add(1); n == 2 || n == 3 {
			return "", errors.New("the application is away")
		}
		return good(ctx)
	})
	harness.Eventually(w, "it has come back", func() bool { return calls.Load() >= 4 && w.closed() >= 2 })
	f.ends(t, stop())
}

// AUTH-02: a dead token that is given again and again is tried once more, and that is
// final: no client hammers a relay.
func TestAUTH02ADeadTokenIsNotRetriedForEver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	run := w.empty(ann)
	dead := w.sign(w.issuer(), claims(ann, map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}))
	f := w.follow(run, func(context.Context) (string, error) { return dead, nil })
	select {
	case err := <-f.done:
		var refused *consumer.HTTPError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, http.StatusUnauthorized, refused.Status)
		require.Equal(t, "token_expired", refused.Code)
	case <-time.After(harness.Patience):
		t.Fatal("it is not final")
	}
	require.EqualValues(t, 2, f.tokens.Load(), "one retry for one refresh")
}

// AUTH-02: the clocks of issuer and relay are five minutes apart, either way.
func TestAUTH02ClocksThatDiffer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *app.Config) { c.Auth.JWT.Leeway = 6 * time.Minute })
	run := w.owned(ann)
	for _, skew := range []time.Duration{-5 * time.Minute, 5 * time.Minute} {
		theirs := time.Now().Add(skew)
		token := w.sign(w.issuer(), claims(ann, map[string]any{"iat": theirs.Unix(), "nbf": theirs.Unix(), "exp": theirs.Add(time.Minute).Unix()}))
		w.want(http.StatusOK, token, http.MethodGet, "/runs/"+run.run, "", nil)
		c, err := harness.Ask(t.Context(), http.MethodPost, w.url+"/chat/live", harness.Live(run.chat), as(token)...)
		require.NoError(t, err)
		f, err := c.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, consumer.Snapshot, f.Type)
		c.Close()
		var session struct {
			Run struct {
				ResumeToken string `json:"resume_token"`
			}
		}
		w.want(http.StatusOK, token, http.MethodGet, "/chat/"+run.chat+"/session", "", &session)
		require.Equal(t, http.StatusOK, w.do(session.Run.ResumeToken, http.MethodPost, "/chat/live", harness.Live(run.chat)).status)
	}
	require.Zero(t, w.closed())
}
