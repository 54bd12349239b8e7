package auth_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/auth"
	"github.com/rejoin/rejoin/test/harness"
)

const (
	issuer   = "https://issuer.example"
	audience = "rejoin"
)

// key is one that tokens are signed with.
type key struct {
	id      string
	private ed25519.PrivateKey
}

func newKey(id string) key {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		panic(err)
	}
	return key{id, private}
}

// set is a JWK set with the public parts.
func set(keys ...key) []byte {
	doc := map[string][]any{"keys": {}}
	for _, k := range keys {
		doc["keys"] = append(doc["keys"], map[string]string{"kty": "OKP", "crv": "Ed25519", "kid": k.id,
			"x": base64.RawURLEncoding.EncodeToString(k.private.Public().(ed25519.PublicKey))})
	}
	out, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	return out
}

// who is somebody who calls.
type who struct {
	tenant, user, role string
}

var (
	ann       = who{"acme", "ann", "observer"}
	bob       = who{"acme", "bob", "observer"}
	elsewhere = who{"globex", "ann", "observer"} // of the same name, in another tenant
	service   = who{"acme", "svc", "producer"}
	stranger  = who{"globex", "svc", "producer"}
	root      = who{"acme", "root", "admin"}
)

// world is one fabric, as rejoin dev --auth jwt runs it.
type world struct {
	*testing.T
	app     *app.App
	url     string
	signing atomic.Pointer[key] // the issuer's key
	keys    string              // the file with the issuer's keys
	log     *logs
	secrets *secrets
}

// newWorld boots one; change may alter its configuration.
func newWorld(t *testing.T, change func(*app.Config)) *world {
	t.Helper()
	w := &world{T: t, log: &logs{}, secrets: &secrets{}, keys: filepath.Join(t.TempDir(), "keys.json")}
	w.signs(newKey("k1"))
	w.trust(w.issuer())
	cfg := app.Config{Addr: "127.0.0.1:0", Version: "test",
		Auth: app.AuthConfig{Kind: app.AuthJWT, JWT: auth.JWTConfig{KeyFile: w.keys, Issuer: issuer, Audience: audience,
			TenantClaim: "org", Refresh: 50 * time.Millisecond}},
		Worker: &app.WorkerConfig{Agent: app.AgentConfig{Custom: mindful{}}},
		Logger: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	if change != nil {
		change(&cfg)
	}
	var err error
	w.app, err = app.New(cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.app.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		w.app.Hurry()
		require.NoError(t, <-done)
		w.secrets.notIn(t, w.log.String())
	})
	select {
	case <-w.app.Ready():
	case err := <-done:
		done <- err
		require.NoError(t, err)
	case <-time.After(harness.Patience):
		t.Fatal("not ready")
	}
	w.url = w.app.URL()
	return w
}

func (w *world) issuer() key { return *w.signing.Load() }

// signs makes a key the one that the issuer signs with; the one before is returned.
func (w *world) signs(k key) (before key) {
	if old := w.signing.Swap(&k); old != nil {
		before = *old
	}
	return before
}

// trust makes these the issuer's keys, at once.
func (w *world) trust(keys ...key) {
	w.Helper()
	require.NoError(w, os.WriteFile(w.keys+".new", set(keys...), 0o600))
	require.NoError(w, os.Rename(w.keys+".new", w.keys))
}

// claims are those of somebody's good token, but for what change says.
func claims(by who, change map[string]any) jwt.MapClaims {
	c := jwt.MapClaims{"iss": issuer, "aud": audience, "sub": by.user, "org": by.tenant, "roles": []string{by.role}, "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(c, change)
	return c
}

func (w *world) sign(k key, c jwt.MapClaims) string {
	w.Helper()
	t := jwt.NewWithClaims(jwt.SigningMethodEdDSA, c)
	t.Header["kid"] = k.id
	s, err := t.SignedString(k.private)
	require.NoError(w, err)
	w.secrets.add(s)
	return s
}

// token is a good token of somebody.
func (w *world) token(by who) string {
	w.Helper()
	return w.sign(w.issuer(), claims(by, nil))
}

// answer is what a request was answered with.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) code() string {
	var p struct{ Code string }
	_ = json.Unmarshal([]byte(a.body), &p)
	return p.Code
}

// as is the header that brings a token, none for "".
func as(token string) []string {
	if token == "" {
		return nil
	}
	return []string{"Authorization", "Bearer " + token}
}

// do sends one request. Of a stream, which does not end by itself, only the header is read.
func (w *world) do(token, method, path, body string) answer {
	w.Helper()
	c, err := harness.Ask(context.Background(), method, w.url+path, body, as(token)...)
	require.NoError(w, err)
	defer c.Close()
	a := answer{status: c.Status, header: c.Header}
	if path == "/chats/live" && c.Status == http.StatusOK { // what there is to say comes after the header
		m, err := c.Message()
		require.NoError(w, err)
		a.body = m.Event + " " + string(m.Data)
		return a
	}
	if !strings.HasPrefix(c.Header.Get("Content-Type"), "text/event-stream") {
		a.body, err = c.Rest()
		require.NoError(w, err)
	}
	return a
}

// want is do for an answer with that status, read as JSON into v, which may be nil.
func (w *world) want(status int, token, method, path, body string, v any) answer {
	w.Helper()
	a := w.do(token, method, path, body)
	require.Equal(w, status, a.status, "%s %s: %s", method, path, a.body)
	if v != nil {
		require.NoError(w, json.Unmarshal([]byte(a.body), v), a.body)
	}
	return a
}

// produce starts a run of a user's chat, over HTTP, and publishes lines.
func (w *world) produce(owner who, chat string, lines ...string) (id string) {
	w.Helper()
	by := who{owner.tenant, "svc", "producer"}
	var started struct {
		RunID string `json:"run_id"`
	}
	w.want(http.StatusCreated, w.token(by), http.MethodPost, "/runs", body("chat_id", chat, "owner", owner.user), &started)
	if len(lines) > 0 {
		w.want(http.StatusOK, w.token(by), http.MethodPost, "/runs/"+started.RunID+"/events", strings.Join(lines, "\n"), nil)
	}
	return started.RunID
}

// send wants a message to be taken.
func (w *world) send(by who, chat, text string) (run string) {
	w.Helper()
	var sent struct {
		RunID string `json:"run_id"`
	}
	w.want(http.StatusAccepted, w.token(by), http.MethodPost, "/chat/send", body("chat_id", chat, "input", map[string]string{"text": text}), &sent)
	return sent.RunID
}

func body(fields ...any) string {
	m := map[string]any{}
	for i := 0; i < len(fields); i += 2 {
		m[fields[i].(string)] = fields[i+1]
	}
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func delta(i int) string {
	return fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"%d "}`, i)
}

// logs gathers what the parts log.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// secrets are the tokens that were made.
type secrets struct {
	mu  sync.Mutex
	all []string
}

func (s *secrets) add(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, token)
}

// notIn wants no token to be in a text: neither whole nor by its signature.
func (s *secrets) notIn(t *testing.T, text string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, token := range s.all {
		if signature := token[strings.LastIndexByte(token, '.')+1:]; signature != "" {
			require.NotContains(t, text, signature)
		}
	}
}

// transport is shared by the Go clients of a test.
func (w *world) http() *http.Client {
	tr := &http.Transport{}
	w.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

var _ io.Writer = (*logs)(nil)
