package edge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/auth"
	"github.com/rejoin/rejoin/internal/killswitch"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// whole is a relay with everything that one can have.
func whole(t *testing.T, change func(*harness.RelayConfig)) (*harness.Fabric, *harness.Relay) {
	t.Helper()
	f := harness.New(t, harness.Config{})
	cfg := harness.RelayConfig{}
	switches, err := killswitch.Open(t.Context(), killswitch.Config{Store: f.Connect().Store})
	require.NoError(t, err)
	t.Cleanup(switches.Close)
	cfg.Relay.Switch = switches
	if change != nil {
		change(&cfg)
	}
	return f, f.Relay(cfg)
}

// The document is true: real requests fit what it says of requests, and real answers
// what it says of answers, with every status that can be had for the asking.
func TestOpenAPIIsTrue(t *testing.T) {
	t.Parallel()
	f, r := whole(t, nil)
	c := theContract(t, r.URL)
	client := browser(t)
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	ended := f.Start(r.Producer, "ended")
	f.Publish(ended, 1, 5)
	_, err := ended.Finish(ctx, producer.FinishOptions{Reason: subjects.ReasonSaveFailed})
	require.NoError(t, err)
	live := f.Start(r.Producer, "live")
	f.Publish(live, 1, 3)
	nobody := strings.Repeat("0", 2) + string(live.ID())[2:]

	h := func(s ...string) []string { return s }
	do := func(k call) string { t.Helper(); return c.holds(t, client, k) }
	run := func(id any, rest string) string { return fmt.Sprintf("/runs/%s%s", id, rest) }

	// Watching.
	do(call{200, "POST", "/chat/live", "", harness.Live("ended", "synced", true), nil, "", ""})
	do(call{200, "POST", "/chat/live", "", `{"threadId":"ended"}`, nil, "", ""})
	do(call{200, "GET", "/chat/live", "/chat/live?chat_id=ended&synced=true", "", h("Last-Event-ID", string(ended.ID())+":3"), "", ""})
	do(call{204, "POST", "/chat/live", "", harness.Live("idle", "wait_ms", 1), nil, "", ""})
	do(call{204, "GET", "/chat/live", "/chat/live?chat_id=idle&wait_ms=1", "", nil, "", ""})
	do(call{400, "POST", "/chat/live", "", `{"chat_id":7}`, nil, "bad_request", ""})
	do(call{400, "POST", "/chat/live", "", `{"chat_id":"c","protocol":2}`, nil, "unsupported_protocol", ""})
	do(call{400, "GET", "/chat/live", "/chat/live", "", nil, "bad_request", ""})
	do(call{413, "POST", "/chat/live", "", harness.Live("c") + strings.Repeat(" ", 64<<10), nil, "too_large", ""})
	many := func(chat, more string) string {
		return fmt.Sprintf(`{"protocol":1,"synced":true,"chats":[{"chat_id":%q}%s]}`, chat, more)
	}
	do(call{200, "POST", "/chats/live", "", many("ended", `,{"chat_id":"live","run_id":"`+string(live.ID())+`","after_seq":1}`), nil, "", "<place>"})
	do(call{200, "POST", "/chats/live", "", many("idle", ""), nil, "", "<place>"})
	do(call{400, "POST", "/chats/live", "", many("c", `,{"chat_id":"c"}`), nil, "bad_request", ""})
	do(call{400, "POST", "/chats/live", "", `{"chats":[{"chat_id":"c"}],"protocol":2}`, nil, "unsupported_protocol", ""})
	do(call{413, "POST", "/chats/live", "", many("c", "") + strings.Repeat(" ", 128<<10), nil, "too_large", ""})
	do(call{200, "GET", "/runs/{run_id}", run(live.ID(), ""), "", nil, "", ""})
	do(call{200, "GET", "/runs/{run_id}", run(ended.ID(), ""), "", nil, "", ""})
	do(call{404, "GET", "/runs/{run_id}", run(nobody, ""), "", nil, "not_found", ""})
	do(call{200, "GET", "/runs/{run_id}/snapshot", run(live.ID(), "/snapshot"), "", nil, "", ""})
	do(call{200, "GET", "/runs/{run_id}/snapshot", run(ended.ID(), "/snapshot"), "", nil, "", ""})
	do(call{304, "GET", "/runs/{run_id}/snapshot", run(ended.ID(), "/snapshot"), "", h("If-None-Match", "*"), "", ""})
	do(call{404, "GET", "/runs/{run_id}/snapshot", run("x", "/snapshot"), "", nil, "not_found", ""})
	do(call{200, "GET", "/runs/active", "", "", h("Accept", "application/json"), "", ""})
	do(call{200, "GET", "/runs/active", "", "", nil, "", "snapshot"})
	do(call{200, "GET", "/chat/{chat_id}/session", "/chat/live/session", "", nil, "", ""})
	do(call{200, "GET", "/chat/{chat_id}/session", "/chat/idle/session", "", nil, "", ""})
	do(call{200, "GET", "/chat/{chat_id}/history", "/chat/live/history?limit=5", "", nil, "", ""})
	do(call{400, "GET", "/chat/{chat_id}/history", "/chat/live/history?limit=0", "", nil, "bad_request", ""})

	// Sending.
	said := `,"input":{"text":"hi"}`
	sent := do(call{202, "POST", "/chat/send", "", `{"chat_id":"s"` + said + `,"client_token":"t"}`, nil, "", ""})
	do(call{409, "POST", "/chat/send", "", `{"chat_id":"s"` + said + `}`, nil, "already_streaming", ""})
	do(call{202, "POST", "/chat/steer-send", "", `{"chat_id":"s"` + said + `}`, nil, "", ""})
	do(call{400, "POST", "/chat/send", "", `{"chat_id":"s"}`, nil, "bad_request", ""})
	do(call{400, "POST", "/chat/steer-send", "", `[]`, nil, "bad_request", ""})
	do(call{400, "POST", "/chat", "", `{"chat_id":"s"}`, nil, "bad_request", ""})
	do(call{413, "POST", "/chat/send", "", `{"chat_id":"s","input":{"text":"` + strings.Repeat("x", 5<<20) + `"}}`, nil, "too_large", ""})
	for range 40 {
		resp := ask(t, client, http.MethodPost, r.URL+"/chat/send", `{"chat_id":"many"`+said+`,"on_active":"queue"}`)
		if all(t, resp); resp.StatusCode != http.StatusAccepted {
			break
		}
	}
	do(call{429, "POST", "/chat/send", "", `{"chat_id":"many"` + said + `,"on_active":"queue"}`, nil, "too_many_requests", ""})
	var ids struct {
		RunID string `json:"run_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(sent), &ids))
	do(call{202, "POST", "/chat/stop", "", `{"chat_id":"s","run_id":"` + ids.RunID + `"}`, nil, "", ""})
	do(call{409, "POST", "/chat/stop", "", `{"chat_id":"ended","run_id":"` + string(ended.ID()) + `"}`, nil, "stale_run", ""})
	do(call{404, "POST", "/chat/stop", "", `{"chat_id":"s","run_id":"x"}`, nil, "not_found", ""})
	do(call{400, "POST", "/chat/stop", "", `{"chat_id":"s"}`, nil, "bad_request", ""})
	asks := string(live.ID())
	_, err = live.Publish(ctx, []byte(`{"type":"CUSTOM","name":"test.request","value":{"requestId":"q","status":"pending"}}`))
	require.NoError(t, err)
	_, err = live.Flush(ctx)
	require.NoError(t, err)
	answer := func(yes string) string {
		return `{"chat_id":"live","run_id":"` + asks + `","request_id":"q","outcome":{"yes":` + yes + `}}`
	}
	do(call{200, "POST", "/chat/answer", "", answer("true"), nil, "", ""})
	do(call{409, "POST", "/chat/answer", "", answer("false"), nil, "already_answered", ""})
	do(call{404, "POST", "/chat/answer", "", strings.Replace(answer("true"), `"q"`, `"other"`, 1), nil, "not_found", ""})
	do(call{400, "POST", "/chat/answer", "", `{"chat_id":"live"}`, nil, "bad_request", ""})

	// Producing.
	started := do(call{201, "POST", "/runs", "", `{"chat_id":"p"}`, nil, "", ""})
	require.NoError(t, json.Unmarshal([]byte(started), &ids))
	do(call{409, "POST", "/runs", "", `{"chat_id":"p","on_active":"reject"}`, nil, "already_streaming", ""})
	do(call{400, "POST", "/runs", "", `{"chat_id":"p","on_active":"queue"}`, nil, "bad_request", ""})
	events := func(status int, body, code string, header ...string) {
		t.Helper()
		do(call{status, "POST", "/runs/{run_id}/events", run(ids.RunID, "/events"), body, header, code, ""})
	}
	events(200, string(harness.Delta(1))+"\n"+string(harness.Delta(2)), "")
	events(200, string(harness.Delta(2)), "", "Rejoin-First-Seq", "2")
	events(409, string(harness.Delta(9)), "seq_gap", "Rejoin-First-Seq", "9")
	events(400, "{}", "bad_request")
	do(call{404, "POST", "/runs/{run_id}/events", run(nobody, "/events"), string(harness.Delta(1)), nil, "not_found", ""})
	do(call{409, "POST", "/runs/{run_id}/events", run(ended.ID(), "/events"), string(harness.Delta(1)), nil, "run_ended", ""})
	do(call{204, "POST", "/runs/{run_id}/heartbeat", run(ids.RunID, "/heartbeat"), "", nil, "", ""})
	do(call{404, "POST", "/runs/{run_id}/heartbeat", run(nobody, "/heartbeat"), "", nil, "not_found", ""})
	do(call{409, "POST", "/runs/{run_id}/heartbeat", run(ended.ID(), "/heartbeat"), "", nil, "run_ended", ""})
	do(call{400, "POST", "/runs/{run_id}/end", run(ids.RunID, "/end"), `{"reason":"bored"}`, nil, "bad_request", ""})
	do(call{202, "POST", "/chat/stop", "", `{"chat_id":"p","run_id":"` + ids.RunID + `","reason":"enough"}`, nil, "", ""})
	do(call{200, "POST", "/runs/{run_id}/end", run(ids.RunID, "/end"), `{"persisted":true}`, nil, "", ""})
	do(call{409, "POST", "/runs/{run_id}/end", run(ids.RunID, "/end"), `{}`, nil, "run_ended", ""})
	do(call{404, "POST", "/runs/{run_id}/end", run(nobody, "/end"), `{}`, nil, "not_found", ""})
	do(call{200, "GET", "/runs/{run_id}/controls", run(ids.RunID, "/controls"), "", nil, "", ""})
	do(call{400, "GET", "/runs/{run_id}/controls", run(ids.RunID, "/controls"), "", h("Last-Event-ID", "x"), "bad_request", ""})
	do(call{404, "GET", "/runs/{run_id}/controls", run(nobody, "/controls"), "", nil, "not_found", ""})
	_, err = live.Finish(ctx, producer.FinishOptions{Persisted: true})
	require.NoError(t, err)
	do(call{200, "GET", "/runs/{run_id}/controls", run(live.ID(), "/controls"), "", nil, "", ""})

	// A message whose run is watched; it waits for a worker, and is stopped.
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		harness.Eventually(t, "the stream is open", func() bool { return r.Number("rejoin_observers") > 0 })
		stop := ask(t, client, http.MethodPost, r.URL+"/chat/stop", `{"chat_id":"w","client_token":"w"}`)
		stop.Body.Close()
	}()
	do(call{200, "POST", "/chat", "", `{"chat_id":"w","protocol":1` + said + `,"client_token":"w"}`, nil, "", ""})
	<-watching

	doors(t, c, client)

	// Operating.
	for _, path := range []string{"/livez", "/readyz"} {
		do(call{200, "GET", path, "", "", nil, "", ""})
		do(call{200, "HEAD", path, "", "", nil, "", ""})
		do(call{413, "GET", path, "", strings.Repeat("x", 65<<10), nil, "too_large", ""})
	}
	do(call{200, "GET", "/metrics", "", "", nil, "", ""})
	do(call{200, "GET", "/openapi.json", "", "", nil, "", ""})
	do(call{304, "GET", "/openapi.json", "", "", h("If-None-Match", "*"), "", ""})
	do(call{400, "PUT", "/admin/switch", "", `{"percent":101}`, nil, "bad_request", ""})
	do(call{200, "PUT", "/admin/switch", "", `{"percent":100,"reason":"a test"}`, nil, "", ""})
	do(call{200, "GET", "/admin/switch", "", "", nil, "", ""})
	harness.Eventually(t, "it is off", func() bool {
		resp := ask(t, client, http.MethodPost, r.URL+"/chat/live", harness.Live("idle"))
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusServiceUnavailable
	})
	do(call{503, "POST", "/chat/live", "", harness.Live("ended"), nil, "switched_off", ""})
	do(call{503, "GET", "/chat/live", "/chat/live?chat_id=ended", "", nil, "switched_off", ""})
	do(call{503, "POST", "/chats/live", "", many("ended", ""), nil, "switched_off", ""})
	do(call{503, "GET", "/runs/active", "", "", nil, "switched_off", ""})

	for path, item := range c.doc.Paths.Map() {
		for method, operation := range item.Operations() {
			for status := range operation.Responses.Map() {
				if status < "400" || status == "404" && !rarelyGone[path] {
					require.True(t, c.seen[method+" "+path+" "+status], "nobody has asked for %s %s %s", method, path, status)
				}
			}
		}
	}
}

// roles is an Authenticator for which a token is the name of a role.
type roles struct{}

func (roles) Authenticate(_ context.Context, token string) (*auth.Identity, error) {
	switch token {
	case "":
		return nil, auth.ErrNoCredential
	case "expired":
		return nil, auth.ErrExpired
	case "keyless":
		return nil, auth.ErrUnavailable
	case "observer", "producer", "admin":
		realm, err := subjects.NewRealm("t", "u")
		return &auth.Identity{Tenant: "t", Owner: "u", Realm: realm, Roles: auth.NewRoles(auth.Role(token)), Expires: time.Now().Add(time.Hour)}, err
	}
	return nil, auth.ErrInvalid
}

func (roles) Valid(*auth.Identity) bool { return true }

// What the document says of credentials is true of every route.
func TestOpenAPIIsTrueOfCredentials(t *testing.T) {
	t.Parallel()
	_, r := whole(t, func(c *harness.RelayConfig) {
		c.Relay.Auth = roles{}
		resume, err := auth.NewResume(auth.ResumeConfig{})
		require.NoError(t, err)
		c.Relay.Resume = resume
	})
	c := theContract(t, r.URL)
	client := browser(t)
	of := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	wrong := map[string]string{"observing": "producer", "watcher": "producer", "reader": "admin", "producer": "observer", "admin": "observer"}
	for path, item := range c.doc.Paths.Map() {
		for method, operation := range item.Operations() {
			who := operation.Extensions["x-access"].(string)
			at := strings.NewReplacer("{run_id}", "x", "{chat_id}", "c").Replace(path)
			if who == "public" {
				continue
			}
			c.holds(t, client, call{401, method, path, at, "", nil, "unauthenticated", ""})
			c.holds(t, client, call{401, method, path, at, "", of("garbage"), "invalid_token", ""})
			c.holds(t, client, call{401, method, path, at, "", of("expired"), "token_expired", ""})
			c.holds(t, client, call{503, method, path, at, "", of("keyless"), "unavailable", ""})
			c.holds(t, client, call{403, method, path, at, "", of(wrong[who]), "forbidden", ""})
		}
	}
	resp := ask(t, client, http.MethodPost, r.URL+"/runs", `{"chat_id":"c","owner":"u"}`, of("producer")...)
	require.Equal(t, http.StatusCreated, resp.StatusCode)
	session := c.holds(t, client, call{200, "GET", "/chat/{chat_id}/session", "/chat/c/session", "", of("observer"), "", ""})
	require.Contains(t, session, `"resume_token":"`)
}
