package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/probe"
	"github.com/rejoin/rejoin/subjects"
)

func runOf(s string) subjects.RunID { return subjects.RunID(s) }

func checkOf(name string) probe.Check { return probe.Check{Name: name} }

// asked is the body of POST /chat/live.
type asked struct {
	RunID    string  `json:"run_id"`
	AfterSeq *uint64 `json:"after_seq"`
}

// rewrite gives what a frame of one stream becomes; an error ends the stream.
type rewrite func(consumer.Frame) ([]consumer.Frame, error)

// fault is what a deployment does wrong. Each part may be nil.
type fault struct {
	request func(r *http.Request, body []byte)                       // sees each request
	instead func(w http.ResponseWriter, r *http.Request) (done bool) // answers in its place
	answer  func(r *http.Request, body []byte) []byte                // changes an answer that is no stream
	stream  func(a asked) rewrite                                    // changes a stream; nil leaves it
}

// deployment is a relay behind something that is broken.
func deployment(t *testing.T, target string, f fault) string {
	t.Helper()
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if f.request != nil {
			f.request(r, body)
		}
		if f.instead != nil && f.instead(w, r) {
			return
		}
		req, _ := http.NewRequestWithContext(r.Context(), r.Method, target+r.URL.RequestURI(), bytes.NewReader(body))
		req.Header = r.Header.Clone()
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		forward(w, r, resp, body, f)
	}))
	t.Cleanup(front.Close)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	return front.URL
}

func forward(w http.ResponseWriter, r *http.Request, resp *http.Response, body []byte, f fault) {
	for name, values := range resp.Header {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		data, _ := io.ReadAll(resp.Body)
		if f.answer != nil {
			data = f.answer(r, data)
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = w.Write(data)
		return
	}
	change := func(f consumer.Frame) ([]consumer.Frame, error) { return []consumer.Frame{f}, nil }
	var a asked
	_ = json.Unmarshal(body, &a)
	if f.stream != nil {
		if c := f.stream(a); c != nil {
			change = c
		}
	}
	w.WriteHeader(resp.StatusCode)
	flush := http.NewResponseController(w)
	_ = flush.Flush()
	_ = messages(flushing{w, flush}, resp.Body, change)
}

// flushing sends what is written at once.
type flushing struct {
	io.Writer
	c *http.ResponseController
}

func (f flushing) Write(p []byte) (int, error) {
	n, err := f.Writer.Write(p)
	if err == nil {
		err = f.c.Flush()
	}
	return n, err
}

// only changes events by their seq, and leaves the rest.
func only(change func(f consumer.Frame) []consumer.Frame) func(asked) rewrite {
	return func(asked) rewrite {
		return func(f consumer.Frame) ([]consumer.Frame, error) {
			if f.Type == consumer.Event {
				return change(f), nil
			}
			return []consumer.Frame{f}, nil
		}
	}
}

// atEnd changes the end.
func atEnd(change func(f *consumer.Frame)) func(asked) rewrite {
	return func(asked) rewrite {
		return func(f consumer.Frame) ([]consumer.Frame, error) {
			if f.Type == consumer.End {
				change(&f)
			}
			return []consumer.Frame{f}, nil
		}
	}
}

func on(path string, do func(w http.ResponseWriter, r *http.Request)) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, path) {
			return false
		}
		do(w, r)
		return true
	}
}

// hang answers nothing until the client leaves.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// brokenDeployments are faults with the check that must find each, and what it must say.
var brokenDeployments = map[string]struct {
	fault
	check, says string
}{
	"drops an event": {fault{stream: only(func(f consumer.Frame) []consumer.Frame {
		if f.Seq == 20 {
			return nil
		}
		return []consumer.Frame{f}
	})}, "first reader", "event 21 after seq 19: 1 lost"},
	"repeats an event": {fault{stream: only(func(f consumer.Frame) []consumer.Frame {
		if f.Seq == 20 {
			return []consumer.Frame{f, f}
		}
		return []consumer.Frame{f}
	})}, "first reader", "event 20 after seq 20: a repetition"},
	"renumbers what follows": {fault{stream: only(func(f consumer.Frame) []consumer.Frame {
		switch {
		case f.Seq == 20:
			return nil
		case f.Seq > 20:
			f.Seq--
		}
		return []consumer.Frame{f}
	})}, "first reader", "event 20 is "},
	"encodes events again": {fault{stream: only(func(f consumer.Frame) []consumer.Frame {
		var compact bytes.Buffer
		_ = json.Compact(&compact, f.Event)
		f.Event = compact.Bytes()
		return []consumer.Frame{f}
	})}, "first reader", "event 3 is "},
	"swaps two events": {fault{stream: func() func(asked) rewrite {
		return func(asked) rewrite {
			var kept []consumer.Frame
			return func(f consumer.Frame) ([]consumer.Frame, error) {
				if f.Type == consumer.Event && f.Seq == 20 {
					kept = []consumer.Frame{f}
					return nil, nil
				}
				out := append([]consumer.Frame{f}, kept...)
				kept = nil
				return out, nil
			}
		}
	}()}, "first reader", "event 21 after seq 19"},
	"begins with the newest": {fault{stream: func(asked) rewrite {
		return func(f consumer.Frame) ([]consumer.Frame, error) {
			if f.Type == consumer.Snapshot && f.Seq > 0 {
				f.Events = f.Events[bytes.IndexByte(f.Events, '\n')+1:]
			}
			return []consumer.Frame{f}, nil
		}
	}}, "joins without cursor", "wrong at event 1"},
	"says saved and is not": {fault{stream: atEnd(func(f *consumer.Frame) { f.End.Persisted = false })}, "first reader", "persisted:false"},
	"says superseded":       {fault{stream: atEnd(func(f *consumer.Frame) { f.End.Superseded = true })}, "first reader", "superseded:true"},
	"ends one too far":      {fault{stream: atEnd(func(f *consumer.Frame) { f.Seq++ })}, "first reader", "the end says seq 41 after seq 40"},
	"ends too soon": {fault{stream: func(asked) rewrite {
		return func(f consumer.Frame) ([]consumer.Frame, error) {
			if f.Type == consumer.Event && f.Seq == 20 {
				end := consumer.Frame{Type: consumer.End, RunID: f.RunID, Seq: 20, End: subjects.End{Persisted: true, Reason: "done"}}
				return []consumer.Frame{f, end}, errBroken
			}
			return []consumer.Frame{f}, nil
		}
	}}, "first reader", "the end came after 20 of 40 events"},
	"goes on after the end": {fault{stream: func(asked) rewrite {
		return func(f consumer.Frame) ([]consumer.Frame, error) {
			if f.Type == consumer.End {
				return []consumer.Frame{f, f}, nil
			}
			return []consumer.Frame{f}, nil
		}
	}}, "first reader", "STREAM_END after the end"},
	"never ends": {fault{stream: func(asked) rewrite {
		return func(f consumer.Frame) ([]consumer.Frame, error) {
			if f.Type == consumer.End {
				return nil, errBroken
			}
			return []consumer.Frame{f}, nil
		}
	}}, "late, at the end", "closed without an end 4 times, at last after seq 40: EOF"},
	"stops in the middle": {fault{stream: func(asked) rewrite {
		return func(f consumer.Frame) ([]consumer.Frame, error) {
			if f.Type == consumer.Event && f.Seq > 20 {
				return nil, nil
			}
			return []consumer.Frame{f}, nil
		}
	}}, "first reader", ""},
	"ignores cursors": {fault{request: func(r *http.Request, _ []byte) { r.Header.Del("Last-Event-ID") }},
		"late, EventSource", "in place of what follows seq 20"},
	"lets one reader hold up another": {fault{stream: func(a asked) rewrite {
		if a.RunID != "" {
			return nil
		}
		return func(f consumer.Frame) ([]consumer.Frame, error) {
			if f.Seq == 20 {
				time.Sleep(300 * time.Millisecond) // the fault itself
			}
			return []consumer.Frame{f}, nil
		}
	}}, "independence", "the slowest after "},
	"has no streams": {fault{instead: on("/chat/live", hang)}, "first reader", "no answer within"},
	"says idle":      {fault{instead: on("/chat/live", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) })}, "first reader", "204"},
	"is a web page": {fault{instead: on("/runs", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(201)
		_, _ = io.WriteString(w, "<html>")
	})}, "start", "<html>"},
	"starts elsewhere": {fault{answer: func(r *http.Request, body []byte) []byte {
		if r.URL.Path == "/runs" {
			return bytes.Replace(body, []byte("rejoin-probe-"), []byte("x"), 1)
		}
		return body
	}}, "start", "a run in the chat"},
	"stores nothing": {fault{instead: on("/events", hang)}, "publish", "no answer within"},
	"miscounts what it stores": {fault{answer: func(r *http.Request, body []byte) []byte {
		if strings.HasSuffix(r.URL.Path, "/events") {
			return []byte(`{"accepted":1,"last_seq":7777}`)
		}
		return body
	}}, "publish", "last_seq 7777"},
	"is always busy": {fault{instead: on("/events", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })}, "publish", "HTTP 503"},
	"cannot end":     {fault{instead: on("/end", hang)}, "end", "no answer within"},
	"loses an event in snapshots": {fault{answer: func(r *http.Request, body []byte) []byte {
		if strings.HasSuffix(r.URL.Path, "/snapshot") {
			return bytes.Replace(body, []byte(`7 é\u00e9 `), nil, 1)
		}
		return body
	}}, "snapshot, polled", "a snapshot with seq "},
	"has no snapshots": {fault{instead: on("/snapshot", hang)}, "snapshot, polled", "no answer within"},
	"sends no 304":     {fault{request: func(r *http.Request, _ []byte) { r.Header.Del("If-None-Match") }}, "snapshot, again", "200 although nothing changed"},
}

// A probe that cannot fail would be worth nothing: each fault is found, by the check that
// is there for it, and without waiting for ever.
func TestProbeFindsWhatIsBroken(t *testing.T) {
	t.Parallel()
	target := dev(t, app.Config{}).URL()
	var running sync.WaitGroup
	results := map[string]result{}
	var mu sync.Mutex
	slots := make(chan struct{}, 8) // most of them wait
	for name, b := range brokenDeployments {
		front := deployment(t, target, b.fault)
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			got := probed(t.Context(), front, "--json", "--patience", "4s", "--max-lag", "250ms")
			mu.Lock()
			defer mu.Unlock()
			results[name] = got
		})
	}
	running.Wait()
	for name, b := range brokenDeployments {
		got := results[name]
		require.Equal(t, exitFailed, got.code, "%s:\n%s", name, got.out)
		found := false
		for line := range strings.Lines(got.out) {
			var c checkLine
			require.NoError(t, json.Unmarshal([]byte(line), &c))
			if c.Check == b.check {
				found = true
				require.False(t, c.OK, "%s: %s", name, line)
				require.Contains(t, c.Seen, b.says, name)
			}
		}
		require.True(t, found, "%s:\n%s", name, got.out)
	}
}

// What a deployment says is shown without letting it act on the terminal.
func TestProbeShowsHostileWordsHarmlessly(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "\x1b[2J\u202e"+strings.Repeat("x", 1<<20))
	}))
	defer server.Close()
	got := probed(t.Context(), server.URL)
	require.Equal(t, exitFailed, got.code)
	require.NotContains(t, got.out, "\x1b")
	require.NotContains(t, got.out, "\u202e")
	require.Less(t, len(got.out), 2000)
}
