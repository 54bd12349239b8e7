package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/test/proxy"
)

// probed runs a short probe.
func probed(ctx context.Context, url string, more ...string) result {
	return called(ctx, nil, append([]string{"probe", "--url", url, "--events", "40", "--rate", "100"}, more...)...)
}

func TestProbeOfAHealthyDeployment(t *testing.T) {
	t.Parallel()
	url := dev(t, app.Config{}).URL()
	got := probed(t.Context(), url, "--after", "50ms", "--after", "20ms,100ms", "--retain", "1m", "--patience", "1m", "--max-lag", "1m")
	require.Zero(t, got.code, got.out)
	require.Empty(t, got.err)
	require.NotContains(t, got.out, "FAILED")
	require.Contains(t, got.out, url+" keeps the contract: 22 checks passed in ")
	for _, row := range []string{"first reader", "independence", "drop and resume", "late, EventSource", "after 20ms", "after 100ms"} {
		require.Contains(t, got.out, "\nok     "+row+" ")
	}
}

func TestProbeAsJSON(t *testing.T) {
	t.Parallel()
	url := dev(t, app.Config{}).URL()
	got := probed(t.Context(), url+"/", "--json", "--patience", "1m", "--max-lag", "1m")
	require.Zero(t, got.code, got.out)
	n := 0
	for line := range strings.Lines(got.out) {
		var c checkLine
		dec := json.NewDecoder(strings.NewReader(line))
		dec.DisallowUnknownFields()
		require.NoError(t, dec.Decode(&c), line)
		require.True(t, c.OK, line)
		require.NotEmpty(t, c.Check+c.Expected+c.Seen)
		n++
	}
	require.Equal(t, 19, n)
}

// A run that has left is gone as a whole; where it was meant to stay, that is a failure.
func TestProbeOfWhatIsNotRetained(t *testing.T) {
	t.Parallel()
	url := dev(t, app.Config{}).URL()
	for _, c := range []struct {
		partly bool
		retain string
		row    string
	}{
		{false, "0s", `ok     after 20ms .* gone\n`},
		{false, "20ms", `ok     after 20ms .* gone\n`},
		{false, "1h", `FAILED after 20ms .* gone, although runs are retained for 1h`},
		{true, "0s", `FAILED after 20ms .* only one of stream and snapshot shows the run\n`},
	} {
		var left atomic.Bool
		front := deployment(t, url, fault{instead: func(w http.ResponseWriter, r *http.Request) bool {
			switch {
			case r.Header.Get("If-None-Match") != "":
				left.Store(true) // right after this; it is the last look before
			case left.Load() && r.URL.Path == "/chat/live":
				w.WriteHeader(http.StatusNoContent)
				return true
			case left.Load() && !c.partly:
				w.WriteHeader(http.StatusNotFound)
				return true
			}
			return false
		}})
		got := probed(t.Context(), front, "--after", "20ms", "--retain", c.retain, "--patience", "10s", "--max-lag", "1m")
		require.Regexp(t, c.row, got.out)
		require.Equal(t, strings.HasPrefix(c.row, "ok"), got.code == 0, got.out)
	}
}

// Connections that break on the way are taken up again, and are no fault.
func TestProbeOutlivesCutConnections(t *testing.T) {
	t.Parallel()
	a := dev(t, app.Config{})
	p, err := proxy.Start(a.Addr())
	require.NoError(t, err)
	defer p.Close()
	done := make(chan result, 1)
	go func() {
		done <- called(t.Context(), nil, "probe", "--url", "http://"+p.Addr(), "--events", "60", "--rate", "20", "--patience", "1m", "--max-lag", "1m")
	}()
	for range 2 {
		taken := p.Taken()
		require.Eventually(t, func() bool { return p.Taken() > taken+3 }, patience, time.Millisecond)
		p.Cut()
	}
	got := <-done
	require.Zero(t, got.code, got.out)
}

func TestProbeCleansUpWhenInterrupted(t *testing.T) {
	t.Parallel()
	url := dev(t, app.Config{}).URL()
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan string, 1)
	front := deployment(t, url, fault{request: func(r *http.Request, _ []byte) {
		if run, ok := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/runs/"), "/events"); ok {
			select {
			case started <- run:
				cancel()
			default:
			}
		}
	}})
	got := called(ctx, nil, "probe", "--url", front, "--events", "4000", "--rate", "10")
	require.Equal(t, exitInterrupted, got.code)
	require.Equal(t, "rejoin probe: interrupted\n", got.err)
	require.NotContains(t, got.out, "FAILED")
	require.Contains(t, got.out, "clean up")
	s, err := (&consumer.Client{BaseURL: url}).Snapshot(t.Context(), runOf(<-started), "")
	require.NoError(t, err)
	require.NotNil(t, s.End, "its run has an end")
	require.Equal(t, "stopped", string(s.End.Reason))
}

func TestProbeOfNothing(t *testing.T) {
	t.Parallel()
	got := probed(t.Context(), "http://127.0.0.1:1", "--patience", "100ms")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.out, "refused")
	require.Contains(t, got.out, "\nhttp://127.0.0.1:1 could not be checked: ")
	require.Contains(t, got.out, "is a relay running at http://127.0.0.1:1? --url says where")
	require.NotContains(t, got.out, "contract")

	got = probed(t.Context(), "http://127.0.0.1:1", "--patience", "100ms", "--json")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.err, "could not be checked")
}

func TestProbeFlags(t *testing.T) {
	t.Parallel()
	for args, says := range map[string]string{
		"--events 11":      "from 12 to 4096",
		"--rate 0":         "from 1 to 10000",
		"--after soon":     `--after is "soon"`,
		"--after 1s,0s":    "separated by commas",
		"--after 25h":      "one or more times up to 24h",
		"--patience 1ms":   "from 100ms",
		"--url ftp://here": "http://127.0.0.1:8080",
	} {
		got := called(t.Context(), nil, append([]string{"probe"}, strings.Fields(args)...)...)
		require.Equal(t, exitUsage, got.code, args)
		require.Contains(t, got.err, says, args)
	}
}

// A writer that fails is an error and not a verdict.
func TestProbeThatCannotPrint(t *testing.T) {
	t.Parallel()
	p := &checkPrinter{w: brokenPipe{}}
	p.check(checkOf("a"))
	require.ErrorIs(t, p.verdict("fine"), io.ErrClosedPipe)
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

var errBroken = errors.New("broken off")

// messages reads SSE and writes what rewrite makes of each frame; comments are kept. It
// ends when rewrite says so.
func messages(w io.Writer, body io.Reader, rewrite func(consumer.Frame) ([]consumer.Frame, error)) error {
	lines := bufio.NewReader(body)
	var message bytes.Buffer
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return err
		}
		message.Write(line)
		if len(bytes.TrimSpace(line)) > 0 {
			continue
		}
		m, err := consumer.NewDecoder(bytes.NewReader(message.Bytes())).Next()
		raw := bytes.Clone(message.Bytes())
		message.Reset()
		if err != nil {
			_, _ = w.Write(raw) // a comment
			continue
		}
		f, err := consumer.ParseFrame(m.Data)
		if err != nil {
			return err
		}
		frames, err := rewrite(f)
		for _, f := range frames {
			if _, err := w.Write(f.AppendSSE(nil)); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}
