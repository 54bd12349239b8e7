package app_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/auth"
	"github.com/rejoin/rejoin/producer/demo"
	"github.com/rejoin/rejoin/subjects"
)

// dev is an App as "rejoin dev" makes it, with a short lease.
func dev(t *testing.T, loop bool) *running {
	t.Helper()
	return boot(t, app.Config{Page: true, Demo: loop, DemoConfig: demo.Config{Rate: 100, Pause: time.Hour}, Lease: time.Second,
		Worker: &app.WorkerConfig{Agent: app.AgentConfig{Kind: app.AgentDemo}}})
}

func (r *running) send(chat, text string) (run string) {
	r.t.Helper()
	body, err := json.Marshal(map[string]any{"chat_id": chat, "input": map[string]string{"text": text}})
	require.NoError(r.t, err)
	status, answer := r.ask(http.MethodPost, "/chat/send", string(body))
	require.Equal(r.t, http.StatusAccepted, status, answer)
	var sent struct {
		RunID string `json:"run_id"`
	}
	require.NoError(r.t, json.Unmarshal([]byte(answer), &sent))
	return sent.RunID
}

func (r *running) kill() {
	r.t.Helper()
	status, answer := r.ask(http.MethodPost, "/demo/kill", "")
	require.Equal(r.t, http.StatusAccepted, status, answer)
	require.JSONEq(r.t, `{"status":"killed","lease_ms":1000,"back_ms":2000}`, answer)
}

// watch reads what a chat is shown until its run ends; each is called with the view after each frame.
func (r *running) watch(chat, run string, each func(*consumer.View)) *consumer.View {
	r.t.Helper()
	s := (&consumer.Client{BaseURL: r.URL()}).Watch(r.ctx(), consumer.Watch{ChatID: chat, RunID: subjects.RunID(run), Wait: patience})
	defer s.Close()
	view := new(consumer.View)
	for {
		f, err := s.Next(r.ctx())
		if errors.Is(err, io.EOF) || view.End() != nil { // the end itself is for the caller to judge
			return view
		}
		require.NoError(r.t, err)
		require.NoError(r.t, view.Apply(f))
		if each != nil {
			each(view)
		}
	}
}

// The producer dies in mid-answer as with kill -9: its run ends as abandoned once its lease has
// run out, what it said stays, and the chat's next message is answered by a successor.
func TestAKilledProducersRunIsAbandonedAndTheChatGoesOn(t *testing.T) {
	t.Parallel()
	r := dev(t, false)
	first := r.send("c", "long")
	killed := false
	view := r.watch("c", first, func(v *consumer.View) {
		if !killed && strings.Contains(string(v.Events()), "TEXT_MESSAGE_CONTENT") {
			killed = true
			r.kill()
			r.kill() // nobody is there to be killed twice
		}
	})
	require.True(t, killed)
	require.Equal(t, subjects.ReasonAbandoned, view.End().Reason)
	require.False(t, view.End().Persisted)
	require.False(t, view.End().Superseded)
	require.NotContains(t, string(view.Events()), `"RUN_FINISHED"`)

	view = r.watch("c", r.send("c", "quick"), nil)
	require.Equal(t, subjects.ReasonDone, view.End().Reason)
	require.True(t, view.End().Persisted)
	status, history := r.ask(http.MethodGet, "/chat/c/history", "")
	require.Equal(t, http.StatusOK, status)
	require.NotContains(t, history, first, "nothing of a dead producer is saved")
	r.http.CloseIdleConnections()
	r.stop()
	require.NoError(t, r.wait())
}

// What is produced without being asked for dies too. Its run is seen ending as abandoned, and is
// not superseded by the successor's.
func TestWhatIsProducedInTheDemosChatDiesToo(t *testing.T) {
	t.Parallel()
	r := dev(t, true)
	killed := false
	view := r.watch(demo.DefaultChat, "", func(*consumer.View) {
		if !killed {
			killed = true
			r.kill()
		}
	})
	require.Equal(t, subjects.ReasonAbandoned, view.End().Reason)
	require.Eventually(t, func() bool {
		_, newest := r.ask(http.MethodGet, "/chat/demo/session", "")
		return strings.Contains(newest, `"state":"running"`)
	}, patience, 50*time.Millisecond, "a successor goes on")
	r.http.CloseIdleConnections()
	r.stop()
	require.NoError(t, r.wait())
}

// Only the page kills, whoever else may use the relay from a browser.
func TestAnotherOriginKillsNobody(t *testing.T) {
	t.Parallel()
	r := boot(t, app.Config{Page: true, Origins: []string{"https://app.example"},
		Worker: &app.WorkerConfig{Agent: app.AgentConfig{Kind: app.AgentDemo}}})
	req, err := http.NewRequestWithContext(r.ctx(), http.MethodPost, r.URL()+"/demo/kill", nil)
	require.NoError(t, err)
	req.Header.Set("Origin", "https://app.example")
	resp, err := r.http.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusForbidden, resp.StatusCode)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Contains(t, string(body), `"code":"forbidden"`)
}

// A relay has no demo, and without the demo's worker there is nobody to kill.
func TestOnlyDevHasADemo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cfg        app.Config
		page, kill int
	}{
		{app.Config{}, http.StatusNotFound, http.StatusNotFound},
		{app.Config{Page: true}, http.StatusOK, http.StatusNotFound},
	} {
		r := boot(t, c.cfg)
		status, body := r.ask(http.MethodGet, "/demo", "")
		require.Equal(t, c.page, status, body)
		status, body = r.ask(http.MethodPost, "/demo/kill", "")
		require.Equal(t, c.kill, status, body)
	}
}

// Where tokens are needed the page is there without one, to ask for it; killing needs one.
func TestThePageNeedsNoTokenAndKillingDoes(t *testing.T) {
	t.Parallel()
	keys := filepath.Join(t.TempDir(), "keys")
	_, public, err := auth.NewKeys()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(keys, public, 0o600))
	r := boot(t, app.Config{Page: true, Worker: &app.WorkerConfig{Agent: app.AgentConfig{Kind: app.AgentDemo}},
		Auth: app.AuthConfig{Kind: app.AuthJWT, JWT: auth.JWTConfig{KeyFile: keys, Issuer: "i", Audience: "a"}}})
	for _, path := range []string{"/demo", "/demo/demo.js", "/demo/setup"} {
		status, body := r.ask(http.MethodGet, path, "")
		require.Equal(t, http.StatusOK, status, body)
	}
	_, setup := r.ask(http.MethodGet, "/demo/setup", "")
	require.JSONEq(t, `{"tokens":true,"kill":true,"agent":true,"lease_ms":15000}`, setup)
	status, body := r.ask(http.MethodPost, "/demo/kill", "")
	require.Equal(t, http.StatusUnauthorized, status, body)
}
