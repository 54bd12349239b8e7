package auth_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/auth"
)

// Over real HTTP, with the client that a relay has: redirects are followed, and the keys
// are read again when a token names a new one.
func TestKeysAreFetchedOverHTTP(t *testing.T) {
	t.Parallel()
	old, next := newEd("a"), newEd("b")
	var doc atomic.Value
	doc.Store(publicSet(old))
	mux := http.NewServeMux()
	mux.Handle("/keys", http.RedirectHandler("/moved", http.StatusFound))
	mux.HandleFunc("/moved", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(doc.Load().([]byte)) })
	srv := httptest.NewServer(mux)
	defer srv.Close()
	j, err := auth.NewJWT(auth.JWTConfig{JWKSURL: srv.URL + "/keys", Issuer: issuer, Audience: audience, MinRefresh: time.Millisecond})
	require.NoError(t, err)
	_, err = j.Authenticate(t.Context(), old.good(t))
	require.ErrorIs(t, err, auth.ErrUnavailable, "nothing is fetched before Run")
	stop := running(t, j.Run)
	defer stop()
	require.Eventually(t, func() bool {
		_, err := j.Authenticate(t.Context(), old.good(t))
		return err == nil
	}, time.Minute, time.Millisecond)
	doc.Store(publicSet(next))
	require.Eventually(t, func() bool {
		_, err := j.Authenticate(t.Context(), next.good(t))
		return err == nil
	}, time.Minute, time.Millisecond)
	_, err = j.Authenticate(t.Context(), old.good(t))
	require.True(t, errors.Is(err, auth.ErrInvalid) && !errors.Is(err, auth.ErrExpired))
}
