package consumer_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
)

func problem(code int, contentType, body string) answer {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func TestAnswersThatNoRepeatWouldChange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer answer
		want   consumer.HTTPError
		says   string
	}{
		"a problem": {problem(400, "application/problem+json; charset=utf-8", `{"type":"about:blank","title":"Bad Request","status":400,"detail":"wait_ms is -1","code":"bad_wait","more":[1]}`),
			consumer.HTTPError{Status: 400, Code: "bad_wait", Title: "Bad Request", Detail: "wait_ms is -1"}, `HTTP 400 "bad_wait": "wait_ms is -1"`},
		"text": {problem(404, "text/plain", "nothing\nhere\n"),
			consumer.HTTPError{Status: 404, Title: "Not Found", Detail: "nothing\nhere"}, `HTTP 404: "nothing\nhere"`},
		"long text": {problem(403, "text/html", "x"+strings.Repeat("é", 1<<20)),
			consumer.HTTPError{Status: 403, Title: "Forbidden", Detail: "x" + strings.Repeat("é", 99)}, "HTTP 403: \"xéé"},
		"a broken problem": {problem(409, "application/problem+json", `{"code":`),
			consumer.HTTPError{Status: 409, Title: "Conflict", Detail: `{"code":`}, "HTTP 409"},
		"nothing":            {status(401), consumer.HTTPError{Status: 401, Title: "Unauthorized"}, `HTTP 401: "Unauthorized"`},
		"another host":       {status(307, "Location", "http://other.test/at/chat/live"), consumer.HTTPError{Status: 307, Title: "redirect not followed", Detail: "http://other.test/at/chat/live"}, "HTTP 307"},
		"another scheme":     {status(308, "Location", "https://relay.test/at/chat/live"), consumer.HTTPError{Status: 308, Title: "redirect not followed", Detail: "https://relay.test/at/chat/live"}, "HTTP 308"},
		"another method":     {status(302, "Location", "/at/chat/live"), consumer.HTTPError{Status: 302, Title: "redirect not followed", Detail: "/at/chat/live"}, "HTTP 302"},
		"an odd success":     {status(206), consumer.HTTPError{Status: 206, Title: "Partial Content"}, "HTTP 206"},
		"a circle to itself": {status(307, "Location", "/at/chat/live"), consumer.HTTPError{Status: 307, Title: "redirect not followed", Detail: "/at/chat/live"}, "HTTP 307"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRelay(t, c.answer)
			_, frames, err := drain(t, r.watch(consumer.Watch{}))
			require.Empty(t, frames, name)
			var got *consumer.HTTPError
			require.ErrorAs(t, err, &got, name)
			require.Equal(t, c.want, *got, name)
			require.ErrorContains(t, err, c.says, name)
			if name != "a circle to itself" {
				require.Len(t, r.requests(), 1, name)
			} else {
				require.Len(t, r.requests(), 4, name)
			}
		})
	}
}

func TestARedirectAtHomeIsFollowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRelay(t)
		r.script = []answer{status(307, "Location", "http://relay.test/at/chat/live"), r.rest("r1", 2)}
		_, _, err := drain(t, r.watch(consumer.Watch{RunID: "r1", AfterSeq: new(uint64(0))}))
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, r.requests()[0].AfterSeq, r.requests()[1].AfterSeq)
	})
}

func TestAWrongContentTypeIsNamed(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"text/html; charset=utf-8", "application/json", "text/event-streams", ""} {
		synctest.Test(t, func(t *testing.T) {
			r := newRelay(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = []string{kind}
				_, _ = io.WriteString(w, "<html>please sign in</html>")
			})
			_, _, err := drain(t, r.watch(consumer.Watch{}))
			require.ErrorIs(t, err, consumer.ErrContentType)
			require.ErrorContains(t, err, kind)
			require.Len(t, r.requests(), 1)
		})
	}
}

func TestTransientAnswersAreWaitedOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer    answer
		at, slack time.Duration
	}{
		"seconds":        {status(503, "Retry-After", "10"), 10 * time.Second, time.Second},
		"rate limit":     {status(429, "Retry-After", "3"), 3 * time.Second, time.Second},
		"none":           {status(500), 0, time.Second},
		"request time":   {status(408), 0, time.Second},
		"bad gateway":    {status(502, "Retry-After", "soon"), 0, time.Second},
		"absurd":         {status(503, "Retry-After", "2000000000"), time.Minute, time.Second},
		"retry":          {stream("retry: 4000\n\n"), 4 * time.Second, time.Second},
		"retry, absurd":  {stream("retry: 4000000000\n\n"), time.Minute, time.Second},
		"a broken start": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0, time.Second},
		"a date": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", time.Now().Add(20*time.Second).UTC().Format(http.TimeFormat))
			w.WriteHeader(503)
		}, 19 * time.Second, 2 * time.Second},
		"a date gone by": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
			w.WriteHeader(503)
		}, 0, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRelay(t)
			r.script = []answer{c.answer, r.rest("r1", 1)}
			_, frames, err := drain(t, r.watch(consumer.Watch{}))
			require.ErrorIs(t, err, io.EOF, name)
			require.Equal(t, "SZ", types(frames), name)
			at := r.requests()[1].at
			require.GreaterOrEqual(t, at, c.at, name)
			require.LessOrEqual(t, at, c.at+c.slack, name)
		})
	}
}

// One lot of clients, told the same by a relay, does not come back as one.
func TestClientsToldTheSameComeBackApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		moments := map[time.Duration]bool{}
		for range 20 {
			r := newRelay(t)
			r.script = []answer{status(503, "Retry-After", "10"), r.rest("r1", 1)}
			_, _, err := drain(t, r.watch(consumer.Watch{}))
			require.ErrorIs(t, err, io.EOF)
			moments[r.requests()[1].at] = true
		}
		require.Greater(t, len(moments), 10)
	})
}

func TestTokens(t *testing.T) {
	t.Parallel()
	numbered := func(calls *int) func(context.Context) (string, error) {
		return func(context.Context) (string, error) {
			*calls++
			return string(rune('a' - 1 + *calls)), nil
		}
	}
	auths := func(r *relay) (out []string) {
		for _, a := range r.requests() {
			out = append(out, strings.TrimPrefix(a.auth, "Bearer "))
		}
		return out
	}
	synctest.Test(t, func(t *testing.T) { // one refresh for each 401, at the cursor, nothing repeated
		calls := 0
		r := newRelay(t)
		r.script = []answer{stream(snapshot("r1", 1, upTo(1))), status(401), stream(event("r1", 2)), status(401), r.rest("r1", 3)}
		r.client.Token = numbered(&calls)
		v, frames, err := drain(t, r.watch(consumer.Watch{}))
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, "SEEZ", types(frames))
		require.Equal(t, upTo(3), string(v.Events()))
		require.Equal(t, []string{"a", "a", "b", "b", "c"}, auths(r))
	})
	synctest.Test(t, func(t *testing.T) { // a new token that is refused as well
		calls := 0
		r := newRelay(t, status(401))
		r.client.Token = numbered(&calls)
		_, _, err := drain(t, r.watch(consumer.Watch{}))
		var refused *consumer.HTTPError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, 401, refused.Status)
		require.Equal(t, []string{"a", "b"}, auths(r))
	})
	synctest.Test(t, func(t *testing.T) { // also when something else comes between
		calls := 0
		r := newRelay(t, status(401), status(503), status(401))
		r.client.Token = numbered(&calls)
		_, _, err := drain(t, r.watch(consumer.Watch{}))
		var refused *consumer.HTTPError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, []string{"a", "b", "b"}, auths(r))
	})
	synctest.Test(t, func(t *testing.T) { // the source of tokens has trouble of its own
		calls := 0
		r := newRelay(t)
		r.script = []answer{r.rest("r1", 1)}
		r.client.Token = func(context.Context) (string, error) {
			if calls++; calls < 3 {
				return "", errors.New("no token today")
			}
			return "x", nil
		}
		_, _, err := drain(t, r.watch(consumer.Watch{}))
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, []string{"x"}, auths(r))
	})
	synctest.Test(t, func(t *testing.T) { // and does not get over it
		r := newRelay(t, idle)
		r.client.Token = func(context.Context) (string, error) { return "", errors.New("no token today") }
		_, _, err := drain(t, r.watch(consumer.Watch{}))
		require.ErrorIs(t, err, consumer.ErrInterrupted)
		require.ErrorContains(t, err, "no token today")
		require.Empty(t, r.requests())
	})
}

func TestHeadersAreSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seen := make(chan http.Header, 1)
		r := newRelay(t, func(w http.ResponseWriter, r *http.Request) { seen <- r.Header; idle(w, r) })
		r.client.Header = http.Header{"x-tenant": {"t1"}, "Authorization": {"Bearer own"}}
		_, _, err := drain(t, r.watch(consumer.Watch{}))
		require.ErrorIs(t, err, consumer.ErrIdle)
		h := <-seen
		for name, want := range map[string]string{
			"X-Tenant": "t1", "Authorization": "Bearer own", "Accept": "text/event-stream", "Content-Type": "application/json",
			"Accept-Encoding": "identity", "Cache-Control": "no-store",
		} {
			require.Equal(t, want, h.Get(name), name)
		}
	})
}

func TestWhatCannotBeAskedForIsRefused(t *testing.T) {
	t.Parallel()
	good := "http://127.0.0.1:1"
	for want, c := range map[string]struct {
		base  string
		watch consumer.Watch
	}{
		"base URL \"\"":            {"", consumer.Watch{ChatID: "c"}},
		"base URL \"localhost\"":   {"localhost", consumer.Watch{ChatID: "c"}},
		"base URL \"ftp://x\"":     {"ftp://x", consumer.Watch{ChatID: "c"}},
		"base URL \"http://x?y=\"": {"http://x?y=", consumer.Watch{ChatID: "c"}},
		"want 1–256 bytes":         {good, consumer.Watch{}},
		"got 257 bytes":            {good, consumer.Watch{ChatID: strings.Repeat("x", 257)}},
		"valid UTF-8, got 1":       {good, consumer.Watch{ChatID: "\xff"}},
		"run id \"\\xff\"":         {good, consumer.Watch{ChatID: "c", RunID: "\xff"}},
		"without a run id":         {good, consumer.Watch{ChatID: "c", AfterSeq: new(uint64(3))}},
		"at most 2^53-1":           {good, consumer.Watch{ChatID: "c", RunID: "r", AfterSeq: new(uint64(1 << 53))}},
		"wait -1s":                 {good, consumer.Watch{ChatID: "c", Wait: -time.Second}},
	} {
		s := (&consumer.Client{BaseURL: c.base}).Watch(t.Context(), c.watch)
		require.ErrorContains(t, lastError(t, s), want)
		require.NoError(t, s.Close())
	}
}

func TestReconnectsAreLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		r := newRelay(t, stream(snapshot("r1", 1, upTo(1))), status(404))
		r.client.Logger = slog.New(slog.NewTextHandler(&log, nil))
		_, _, _ = drain(t, r.watch(consumer.Watch{}))
		require.Equal(t, 1, strings.Count(log.String(), "\n"))
		require.Contains(t, log.String(), "run_id=r1 seq=1 fruitless=0")
	})
}
