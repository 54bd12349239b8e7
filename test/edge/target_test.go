package edge_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/auth"
	"github.com/rejoin/rejoin/internal/killswitch"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/test/harness"
)

// mark is in everything hostile, so that it is known again.
const mark = "h0st1le"

// breaks are what lines, frames, headers and logs are broken with.
var breaks = []string{"\n", "\r\n", "\r", "\x00", "\x1b[2J", "\u0085", "\u2028", "\u2029", "\u202e", "\u200b", "\ufeff", "\x7f",
	"\n\ndata: {}\n\n", "\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "\nlevel=ERROR msg=forged\n", "<script>alert(1)</script>", `"};`, "%0a", `\n`, "{{.}}", "${x}"}

// target is a relay under attack, with somebody beside who only wants to watch.
type target struct {
	*harness.Relay
	f          *harness.Fabric
	text, json *kept
	run        *producer.Run // what is watched
	watching   chan error
	seen       harness.Observer
}

// kept is a log.
type kept struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (k *kept) Write(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.b.Write(b)
}

func (k *kept) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.b.String()
}

const (
	bystander = "bystander"
	before    = 20 // events of what is watched before the attack
)

// attacked boots a relay with everything, whose every line is logged in both forms.
func attacked(t *testing.T, change func(*harness.RelayConfig)) *target {
	t.Helper()
	a := &target{text: &kept{}, json: &kept{}, watching: make(chan error, 1)}
	all := &slog.HandlerOptions{Level: slog.LevelDebug}
	a.f = harness.New(t, harness.Config{LogTo: slog.NewMultiHandler(slog.NewTextHandler(a.text, all), slog.NewJSONHandler(a.json, all))})
	cfg := harness.RelayConfig{}
	switches, err := killswitch.Open(t.Context(), killswitch.Config{Store: a.f.Connect().Store})
	require.NoError(t, err)
	t.Cleanup(switches.Close)
	cfg.Relay.Switch = switches
	if cfg.Relay.Resume, err = auth.NewResume(auth.ResumeConfig{}); err != nil {
		require.NoError(t, err)
	}
	cfg.Relay.Origins, cfg.Relay.ForwardHeaders = []string{page}, []string{"X-Forwarded-To-Agent"}
	if change != nil {
		change(&cfg)
	}
	a.Relay = a.f.Relay(cfg)
	a.run = a.f.Start(a.Producer, bystander)
	a.f.Publish(a.run, 1, before)
	return a
}

// watched begins to watch beside the attack, for as long as that takes.
func (a *target) watched(t *testing.T) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.URL+"/chat/live", strings.NewReader(harness.Live(bystander)))
	require.NoError(t, err)
	resp, err := browser(t).Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { resp.Body.Close() })
	require.Equal(t, http.StatusOK, resp.StatusCode)
	from := &watched{Decoder: consumer.NewDecoder(resp.Body)}
	require.NoError(t, a.seen.Until(t.Context(), from, before))
	go func() { a.watching <- a.seen.ToEnd(context.Background(), from) }()
}

// unharmed says that the relay is what it was: who watched beside has everything and
// nothing else, nobody panicked, and what was sent is in no number and no line.
func (a *target) unharmed(t *testing.T) {
	t.Helper()
	a.f.Publish(a.run, before+1, before+10)
	_, err := a.run.Finish(t.Context(), producer.FinishOptions{Persisted: true})
	require.NoError(t, err)
	select {
	case err := <-a.watching:
		require.NoError(t, err)
	case <-time.After(harness.Patience):
		require.FailNow(t, "who watched beside has not seen the end")
	}
	require.NoError(t, a.seen.Holds(before+10))
	require.Zero(t, a.Number("rejoin_http_panics_total"))

	numbers := all(t, ask(t, browser(t), http.MethodGet, a.URL+"/metrics", ""))
	require.NotContains(t, numbers, mark)
	require.NotContains(t, numbers, "forged")
	a.goodText(t)
	a.goodJSON(t)
}

var textLine = regexp.MustCompile(`^time=\S+ level=(DEBUG|INFO|WARN|ERROR) msg=("(\\.|[^"\\])*"|[^" =]+)( [a-z_.]+=("(\\.|[^"\\])*"|[^" =]*))*$`)

// goodText wants one well-formed record on every line of the text log.
func (a *target) goodText(t *testing.T) {
	t.Helper()
	for line := range strings.Lines(a.text.String()) {
		line = strings.TrimSuffix(line, "\n")
		require.Regexp(t, textLine, line)
		printable(t, line)
	}
}

func (a *target) goodJSON(t *testing.T) {
	t.Helper()
	for line := range strings.Lines(a.json.String()) {
		var record map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &record), line)
		require.NotContains(t, []any{"forged"}, record["msg"])
		printable(t, strings.TrimSuffix(line, "\n"))
	}
}

// printable wants nothing that moves a cursor, hides or reorders what is shown.
func printable(t *testing.T, line string) {
	t.Helper()
	require.True(t, utf8.ValidString(line), "%q", line)
	for _, r := range line {
		require.False(t, unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp), "%q in %q", r, line)
	}
}

// raw sends bytes as they are, closes its side, and gives what comes back.
func raw(t *testing.T, base, request string) string {
	t.Helper()
	return spoken(t, base, request, true)
}

// spoken is raw, and leaves it to the other side to close where closing is false.
func spoken(t *testing.T, base, request string, closing bool) string {
	t.Helper()
	u, err := url.Parse(base)
	require.NoError(t, err)
	conn, err := net.Dial("tcp", u.Host)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(harness.Patience)))
	go func() {
		_, _ = io.WriteString(conn, request)
		if closing {
			_ = conn.(*net.TCPConn).CloseWrite()
		}
	}()
	b, err := io.ReadAll(conn)
	if err != nil && strings.Contains(err.Error(), "reset") {
		err = nil // refused before all of it was read
	}
	require.NoError(t, err)
	return string(b)
}

// answers are the statuses of what raw gave back.
func answers(t *testing.T, wire string) []int {
	t.Helper()
	var statuses []int
	for in := bufio.NewReader(strings.NewReader(wire)); ; {
		if _, err := in.Peek(1); err == io.EOF {
			return statuses
		}
		resp, err := http.ReadResponse(in, nil)
		require.NoError(t, err, "%q", wire)
		_, _ = io.Copy(io.Discard, resp.Body)
		statuses = append(statuses, resp.StatusCode)
	}
}

// refusedOrHarmless wants an answer that is no fault of the relay's.
func refusedOrHarmless(t *testing.T, status int, what ...any) {
	t.Helper()
	require.Less(t, status, 500, fmt.Sprint(what...))
	require.GreaterOrEqual(t, status, 200, fmt.Sprint(what...))
}
