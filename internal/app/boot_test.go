package app_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/app"
)

// patience bounds every wait; nothing is expected to need it.
const patience = 2 * time.Minute

// running is an App that was booted for a test.
type running struct {
	*app.App
	t    *testing.T
	stop context.CancelFunc
	done chan error
	http *http.Client
}

// boot runs an App until the test ends, and waits until it serves.
func boot(t *testing.T, cfg app.Config) *running {
	t.Helper()
	if cfg.Addr == "" {
		cfg.Addr = "127.0.0.1:0"
	}
	a, err := app.New(cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{App: a, t: t, stop: cancel, done: make(chan error, 1), http: &http.Client{Transport: &http.Transport{}}}
	go func() { r.done <- a.Run(ctx); close(r.done) }()
	t.Cleanup(func() {
		cancel()
		a.Hurry()
		r.wait()
		r.http.CloseIdleConnections()
	})
	select {
	case <-a.Ready():
	case err := <-r.done:
		t.Fatalf("did not come up: %v", err)
	case <-time.After(patience):
		t.Fatal("not ready")
	}
	return r
}

// wait returns what Run returned.
func (r *running) wait() error {
	r.t.Helper()
	select {
	case err := <-r.done:
		return err
	case <-time.After(patience):
		r.t.Fatal("Run does not return")
		return nil
	}
}

// ctx ends with the test, or earlier when it takes too long.
func (r *running) ctx() context.Context {
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	r.t.Cleanup(cancel)
	return ctx
}

// ask sends a request and returns the answer's status and body.
func (r *running) ask(method, path, body string) (int, string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.ctx(), method, r.URL()+path, strings.NewReader(body))
	require.NoError(r.t, err)
	resp, err := r.http.Do(req)
	require.NoError(r.t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	return resp.StatusCode, string(data)
}

// start starts a run and returns its id.
func (r *running) start(request string) string {
	r.t.Helper()
	status, body := r.ask(http.MethodPost, "/runs", request)
	require.Equal(r.t, http.StatusCreated, status, body)
	var got struct {
		RunID string `json:"run_id"`
	}
	require.NoError(r.t, json.Unmarshal([]byte(body), &got))
	return got.RunID
}
