package save_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rejoin/rejoin/producer/save"
	"github.com/rejoin/rejoin/subjects"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds what is not expected to take long.
const patience = 2 * time.Minute

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func turn() *save.Turn {
	return &save.Turn{Realm: "t", ChatID: "c\n", Owner: "o", TurnID: "turn-1", RunID: subjects.NewRunID(0), Kind: "send", Generation: 3,
		Input:  []byte(`{"text":"hi <b>","n":12345678901234567890}`),
		Events: []byte(`{"type":"RAW","a":1e400}` + "\n" + `{"type":"RAW","b":"\u00e9<"}`),
		Reason: subjects.ReasonDone, StartedAt: noon, EndedAt: noon.Add(time.Second)}
}

// receive serves a webhook; the saver retries fast.
func receive(t *testing.T, cfg save.WebhookConfig, serve http.HandlerFunc) save.Saver {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	cfg.URL = server.URL + "/turns?key=hidden"
	cfg.Client = server.Client()
	cfg.MinBackoff, cfg.MaxBackoff = time.Millisecond, 5*time.Millisecond
	s, err := save.NewWebhook(cfg)
	require.NoError(t, err)
	return s
}

// within gives a context that is not expected to end.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestWhatIsPosted(t *testing.T) {
	t.Parallel()
	const secret = "s3cret"
	want := turn()
	got := make(chan *http.Request, 1)
	var body []byte
	s := receive(t, save.WebhookConfig{Secret: secret, Header: http.Header{"authorization": {"Bearer x"}}}, func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		got <- r
		w.WriteHeader(http.StatusNoContent)
	})
	require.NoError(t, s.Save(within(t, patience), want))
	r := <-got
	require.Equal(t, http.MethodPost, r.Method)
	require.Equal(t, "/turns?key=hidden", r.RequestURI)
	require.Equal(t, "application/json", r.Header.Get("Content-Type"))
	require.Equal(t, string(want.RunID), r.Header.Get("Idempotency-Key"))
	require.Equal(t, "rejoin", r.UserAgent())
	require.Equal(t, "Bearer x", r.Header.Get("Authorization"))
	require.NoError(t, save.Verify(secret, r.Header.Get(save.SignatureHeader), body, time.Now(), 0))
	require.Equal(t, `{"tenant":"t","chat_id":"c\n","owner":"o","turn_id":"turn-1","run_id":"`+string(want.RunID)+`","kind":"send",`+
		`"generation":3,"reason":"done","started_at":"2026-01-02T12:00:00Z","ended_at":"2026-01-02T12:00:01Z",`+
		`"input":{"text":"hi <b>","n":12345678901234567890},"events":[{"type":"RAW","a":1e400},{"type":"RAW","b":"\u00e9<"}]}`, string(body))
	require.True(t, json.Valid(body))
}

func TestWithoutASecretNothingIsSigned(t *testing.T) {
	t.Parallel()
	var signed atomic.Bool
	s := receive(t, save.WebhookConfig{}, func(_ http.ResponseWriter, r *http.Request) {
		signed.Store(r.Header.Get(save.SignatureHeader) != "")
	})
	one := turn()
	one.Input, one.Events = nil, nil
	require.NoError(t, s.Save(within(t, patience), one))
	require.False(t, signed.Load())
	one.Input = []byte("nonsense")
	require.ErrorContains(t, s.Save(within(t, patience), one), "input is no JSON")
}

func TestWhatAnswersMean(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		want   error // nil means saved
		again  bool
	}{
		{200, nil, false}, {201, nil, false}, {204, nil, false}, {299, nil, false},
		{409, save.ErrStale, false}, {410, save.ErrStale, false}, {412, save.ErrStale, false},
		{400, save.ErrRefused, false}, {401, save.ErrRefused, false}, {403, save.ErrRefused, false}, {404, save.ErrRefused, false},
		{413, save.ErrRefused, false}, {422, save.ErrRefused, false}, {301, save.ErrRefused, false}, {307, save.ErrRefused, false},
		{308, save.ErrRefused, false},
		{408, nil, true}, {425, nil, true}, {429, nil, true}, {500, nil, true}, {502, nil, true}, {503, nil, true}, {599, nil, true},
	} {
		t.Run(fmt.Sprint(c.status), func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			s := receive(t, save.WebhookConfig{}, func(w http.ResponseWriter, _ *http.Request) {
				if calls.Add(1) == 1 {
					w.Header().Set("Location", "/elsewhere")
					w.WriteHeader(c.status)
				}
			})
			err := s.Save(within(t, patience), turn())
			if c.want == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, c.want)
				require.ErrorContains(t, err, fmt.Sprint(c.status))
			}
			require.EqualValues(t, map[bool]int{true: 2, false: 1}[c.again], calls.Load())
		})
	}
}

func TestARefusalIsExplained(t *testing.T) {
	t.Parallel()
	s := receive(t, save.WebhookConfig{}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(422)
		_, _ = io.WriteString(w, "\x1b[31mno\r\n such\tchat \xff\u202e "+strings.Repeat("x", 1<<20))
	})
	err := s.Save(within(t, patience), turn())
	var refused *save.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, 422, refused.Status)
	require.True(t, strings.HasPrefix(refused.Excerpt, "[31mno such chat xxx"), refused.Excerpt)
	require.LessOrEqual(t, len(refused.Excerpt), 512)
	require.NotContains(t, err.Error(), "hidden")
}

// The same request, with the same key and a fresh signature, until it is taken.
func TestAFlappingReceiverIsAskedAgain(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	var keys, bodies [7]string
	s := receive(t, save.WebhookConfig{Secret: "s"}, func(w http.ResponseWriter, r *http.Request) {
		n := calls.Add(1)
		body, _ := io.ReadAll(r.Body)
		keys[n-1], bodies[n-1] = r.Header.Get("Idempotency-Key"), string(body)
		switch n {
		case 1, 4:
			w.WriteHeader(500)
		case 2: // the connection dies before an answer
			panic(http.ErrAbortHandler)
		case 3: // an answer that is cut short
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, "HTTP/1.1 2")
				conn.Close()
			}
		case 5: // an answer that is none
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, "SSH-2.0-nonsense\r\n\r\n")
				conn.Close()
			}
		case 6:
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(503)
		}
	})
	one := turn()
	require.NoError(t, s.Save(within(t, patience), one))
	require.EqualValues(t, 7, calls.Load())
	for i := range keys {
		require.Equal(t, string(one.RunID), keys[i])
		require.Equal(t, bodies[0], bodies[i])
	}
}

// A receiver that hangs is given up at its time, and asked again while there is some.
func TestAHangingReceiverIsGivenUp(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	var calls atomic.Int64
	s := receive(t, save.WebhookConfig{AttemptTimeout: 20 * time.Millisecond}, func(_ http.ResponseWriter, r *http.Request) {
		if calls.Add(1) <= 2 {
			_, _ = io.Copy(io.Discard, r.Body)
			<-release
		}
	})
	require.NoError(t, s.Save(within(t, patience), turn()))
	require.GreaterOrEqual(t, calls.Load(), int64(3))
	calls.Store(-1 << 30)
	err := s.Save(within(t, 100*time.Millisecond), turn())
	require.ErrorIs(t, err, save.ErrUnconfirmed)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	close(release)
}

func TestSaveReturnsWithItsContext(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}, 10), make(chan struct{})
	s := receive(t, save.WebhookConfig{}, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- struct{}{}
		<-release
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	err := s.Save(ctx, turn())
	require.ErrorIs(t, err, save.ErrUnconfirmed)
	require.ErrorIs(t, err, context.Canceled)
	close(release)
}

// What comes behind a good status does not matter: not its length, not its end.
func TestALyingReceiverHasSaidYes(t *testing.T) {
	t.Parallel()
	for name, tail := range map[string]string{
		"too short":   "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf",
		"bad chunks":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"never ended": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done := make(chan struct{})
			defer close(done)
			s := receive(t, save.WebhookConfig{}, func(w http.ResponseWriter, _ *http.Request) {
				conn, _, err := http.NewResponseController(w).Hijack()
				if err == nil {
					_, _ = io.WriteString(conn, tail)
					go func() {
						<-done
						conn.Close()
					}()
				}
			})
			require.NoError(t, s.Save(within(t, patience), turn()))
		})
	}
}

func TestAnEndlessAnswerIsNotReadToItsEnd(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 404} {
		s := receive(t, save.WebhookConfig{}, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			for junk := bytes.Repeat([]byte("x"), 1<<16); ; {
				if _, err := w.Write(junk); err != nil {
					return
				}
			}
		})
		err := s.Save(within(t, patience), turn())
		require.Equal(t, status == 200, err == nil)
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	after := "1"
	s := receive(t, save.WebhookConfig{}, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.Header().Set("Retry-After", after)
			w.WriteHeader(429)
		}
	})
	from := time.Now()
	require.NoError(t, s.Save(within(t, patience), turn()))
	require.GreaterOrEqual(t, time.Since(from), time.Second)

	// Longer than there is time: nobody waits for what cannot come.
	for _, after = range []string{"3600", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)} {
		calls.Store(0)
		err := s.Save(within(t, patience), turn())
		require.ErrorIs(t, err, save.ErrUnconfirmed)
		require.ErrorContains(t, err, "429")
		require.EqualValues(t, 1, calls.Load())
	}
}

func TestNobodyThereIsTriedAgain(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := ln.Addr().String()
	ln.Close()
	s, err := save.NewWebhook(save.WebhookConfig{URL: "http://" + addr + "/?key=hidden", MinBackoff: time.Millisecond})
	require.NoError(t, err)
	err = s.Save(within(t, 200*time.Millisecond), turn())
	require.ErrorIs(t, err, save.ErrUnconfirmed)
	require.NotContains(t, err.Error(), "hidden")
}

// Redirects are not followed: a signed body goes where it was sent, and nowhere else.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Store(true) }))
	defer other.Close()
	s := receive(t, save.WebhookConfig{}, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	require.ErrorIs(t, s.Save(within(t, patience), turn()), save.ErrRefused)
	require.False(t, elsewhere.Load())
}

func TestBadConfigurationsAreRefused(t *testing.T) {
	t.Parallel()
	const good = "https://example.com/x"
	for _, c := range []save.WebhookConfig{
		{}, {URL: "ftp://h/secret"}, {URL: "secret"}, {URL: "http://"}, {URL: "http://h/#secret"}, {URL: "http://h:\n/secret"},
		{URL: good, Header: http.Header{"idempotency-key": {"x"}}},
		{URL: good, Header: http.Header{"Host": {"x"}}},
		{URL: good, Header: http.Header{"A b": {"x"}}},
		{URL: good, Header: http.Header{"": {"x"}}},
		{URL: good, Header: http.Header{"A": {"x\r\nB: secret"}}},
		{URL: good, MinBackoff: -1},
	} {
		_, err := save.NewWebhook(c)
		require.ErrorIs(t, err, save.ErrConfig)
		require.NotContains(t, err.Error(), "secret")
	}
	_, err := save.NewWebhook(save.WebhookConfig{URL: good, Header: http.Header{"X-Key": {"é"}}})
	require.NoError(t, err)
}
