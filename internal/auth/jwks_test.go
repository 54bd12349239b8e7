package auth_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/auth"
)

// issuerHTTP stands for the server with the keys. It counts how often it is asked.
type issuerHTTP struct {
	mu     sync.Mutex
	answer func(*http.Request) (*http.Response, error)
	asked  int
}

func (i *issuerHTTP) RoundTrip(req *http.Request) (*http.Response, error) {
	i.mu.Lock()
	i.asked++
	answer := i.answer
	i.mu.Unlock()
	return answer(req)
}

func (i *issuerHTTP) does(answer func(*http.Request) (*http.Response, error)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answer = answer
}

func (i *issuerHTTP) count() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked
}

func serves(doc []byte) func(*http.Request) (*http.Response, error) {
	return answers(200, bytes.NewReader(doc))
}

func answers(status int, body io.Reader) func(*http.Request) (*http.Response, error) {
	doc, _ := io.ReadAll(io.LimitReader(body, 1<<20))
	return func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Body: io.NopCloser(bytes.NewReader(doc)), Request: req, Header: http.Header{"Location": {"http://evil.example/"}}}, nil
	}
}

func refuses(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }

func hangs(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// fromURL runs fn with a JWT whose keys come from is, in a bubble of time. The log is
// what was said meanwhile.
func fromURL(t *testing.T, is *issuerHTTP, fn func(t *testing.T, j *auth.JWT, log *lockedBuffer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		log := &lockedBuffer{}
		j, err := auth.NewJWT(auth.JWTConfig{JWKSURL: "https://ann:hunter2@issuer.example/keys?key=hunter2", Issuer: issuer, Audience: audience,
			HTTP: &http.Client{Transport: is}, Logger: slog.New(slog.NewTextHandler(log, nil))})
		require.NoError(t, err)
		stop := running(t, j.Run)
		defer stop()
		synctest.Wait()
		fn(t, j, log)
		require.NotContains(t, log.String(), "hunter2")
	})
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestKeysFromAURLRotate(t *testing.T) {
	t.Parallel()
	old, next := newEd("a"), newEC("b")
	is := &issuerHTTP{answer: serves(publicSet(old))}
	fromURL(t, is, func(t *testing.T, j *auth.JWT, log *lockedBuffer) {
		first := accepted(t, j, old.good(t))
		is.does(serves(publicSet(next)))
		time.Sleep(30 * time.Second)
		require.True(t, j.Valid(first), "not read again yet")
		second := accepted(t, j, next.good(t)) // the unknown name has it read
		require.False(t, j.Valid(first))
		require.Equal(t, 2, is.count())
		time.Sleep(50 * time.Minute)
		require.True(t, j.Valid(second))
		require.InDelta(t, 52, is.count(), 7, "once a minute")
		require.Equal(t, 2, strings.Count(log.String(), "keys for tokens"), "said when they change, and only then")
	})
}

func TestTheLastGoodKeysStayWhileTheURLFails(t *testing.T) {
	t.Parallel()
	key, next := newEd("a"), newEd("b")
	for name, failure := range map[string]func(*http.Request) (*http.Response, error){
		"gone":       refuses,
		"slow":       hangs,
		"huge":       answers(200, strings.NewReader(`{"keys":[`+strings.Repeat(" ", 300<<10)+`]}`)),
		"status":     answers(500, strings.NewReader("oops")),
		"redirected": answers(302, strings.NewReader("")),
		"HTML":       answers(200, strings.NewReader("<html>-----BEGIN PUBLIC KEY-----")),
		"a secret":   answers(200, bytes.NewReader(publicSet(newHS("a")))),
		"private":    answers(200, bytes.NewReader(set(key.private()))),
		"empty":      answers(200, strings.NewReader("")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := &issuerHTTP{answer: serves(publicSet(key))}
			fromURL(t, is, func(t *testing.T, j *auth.JWT, log *lockedBuffer) {
				id := accepted(t, j, key.good(t))
				is.does(failure)
				time.Sleep(10 * time.Minute)
				require.True(t, j.Valid(id))
				accepted(t, j, key.good(t))
				require.Equal(t, 1, strings.Count(log.String(), "level=WARN"), log.String())

				// It cannot be told from an unknown one: the client is to come back.
				_, err := j.Authenticate(t.Context(), next.good(t))
				require.ErrorIs(t, err, auth.ErrUnavailable)
				is.does(serves(publicSet(key, next)))
				time.Sleep(2 * time.Minute)
				accepted(t, j, next.good(t))
				require.Contains(t, log.String(), "can be read again")
			})
		})
	}
}

func TestKeysThatWereNeverFetchedAreUnavailable(t *testing.T) {
	t.Parallel()
	key := newEd("a")
	is := &issuerHTTP{answer: refuses}
	fromURL(t, is, func(t *testing.T, j *auth.JWT, _ *lockedBuffer) {
		_, err := j.Authenticate(t.Context(), key.good(t))
		require.ErrorIs(t, err, auth.ErrUnavailable)
		requireNothingOf(t, err, key.good(t))
		_, err = j.Authenticate(t.Context(), "")
		require.ErrorIs(t, err, auth.ErrNoCredential)
		_, err = j.Authenticate(t.Context(), "garbage")
		require.ErrorIs(t, err, auth.ErrInvalid, "no key would change that")
		require.False(t, j.Valid(&auth.Identity{}))

		is.does(serves(publicSet(key)))
		time.Sleep(2 * time.Second) // soon, not after the usual minute
		accepted(t, j, key.good(t))
	})
}

// A relay that has just started waits for its keys rather than refuse.
func TestATokenWaitsForTheFirstKeys(t *testing.T) {
	t.Parallel()
	key := newEd("a")
	is := &issuerHTTP{answer: func(req *http.Request) (*http.Response, error) {
		time.Sleep(2 * time.Second)
		return serves(publicSet(key))(req)
	}}
	fromURL(t, is, func(t *testing.T, j *auth.JWT, _ *lockedBuffer) {
		accepted(t, j, key.good(t))
		require.Equal(t, 1, is.count())
	})

	slow := &issuerHTTP{answer: hangs}
	fromURL(t, slow, func(t *testing.T, j *auth.JWT, _ *lockedBuffer) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		from := time.Now()
		_, err := j.Authenticate(ctx, key.good(t))
		require.ErrorIs(t, err, auth.ErrUnavailable)
		require.Equal(t, time.Second, time.Since(from), "not beyond its context")
	})
}

// Whoever sends tokens that name unknown keys, however many, costs the issuer next to
// nothing, and those with known keys no time.
func TestUnknownKeysAreLookedUpOnceInAWhile(t *testing.T) {
	t.Parallel()
	key := newEd("a")
	is := &issuerHTTP{answer: func(req *http.Request) (*http.Response, error) {
		time.Sleep(time.Second)
		return serves(publicSet(key))(req)
	}}
	fromURL(t, is, func(t *testing.T, j *auth.JWT, _ *lockedBuffer) {
		time.Sleep(20 * time.Second)
		before := is.count()
		var wg sync.WaitGroup
		for range 50 {
			token := newEd("x").good(t)
			wg.Go(func() {
				_, err := j.Authenticate(t.Context(), token)
				require.ErrorIs(t, err, auth.ErrInvalid)
			})
		}
		synctest.Wait()
		from := time.Now()
		accepted(t, j, key.good(t))
		require.Zero(t, time.Since(from))
		wg.Wait()
		require.Equal(t, before+1, is.count())
		for range 50 {
			_, err := j.Authenticate(t.Context(), newEd("x").good(t))
			require.ErrorIs(t, err, auth.ErrInvalid)
		}
		require.Equal(t, before+1, is.count())
	})
}

// An issuer may take all its keys back.
func TestAnEmptySetWithdrawsEverything(t *testing.T) {
	t.Parallel()
	key := newEd("a")
	is := &issuerHTTP{answer: serves(publicSet(key))}
	fromURL(t, is, func(t *testing.T, j *auth.JWT, log *lockedBuffer) {
		id := accepted(t, j, key.good(t))
		is.does(serves(set()))
		time.Sleep(2 * time.Minute)
		require.False(t, j.Valid(id))
		_, err := j.Authenticate(t.Context(), key.good(t))
		require.ErrorIs(t, err, auth.ErrInvalid)
		require.Contains(t, log.String(), "level=ERROR")
	})
}

func TestKeysAreReadWhileTokensAreChecked(t *testing.T) {
	t.Parallel()
	a, b := newEd("a"), newEd("b")
	path := file(t, publicSet(a, b))
	j, err := auth.NewJWT(auth.JWTConfig{KeyFile: path, Issuer: issuer, Audience: audience, Refresh: time.Microsecond, MinRefresh: time.Microsecond})
	require.NoError(t, err)
	stop := running(t, j.Run)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				_, err := j.Authenticate(t.Context(), a.good(t))
				require.NoError(t, err, "it was there all the time")
				_, _ = j.Authenticate(t.Context(), b.good(t))
			}
		})
	}
	for range 20 {
		replace(t, path, publicSet(a))
		replace(t, path, publicSet(b, a))
	}
	stop() // also while somebody waits
	wg.Wait()
}
