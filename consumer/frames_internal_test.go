package consumer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/subjects"
)

// vector is a case of testdata/frames, whose README says what the fields mean.
type vector struct {
	Name, About string
	Stream      *string
	Base64      []byte `json:"stream_base64"`
	Cursor      *struct {
		RunID    subjects.RunID `json:"run_id"`
		AfterSeq uint64         `json:"after_seq"`
	}
	MaxMessage int `json:"max_message"`
	Frames     []json.RawMessage
	Retry      int64
	Outcome    string
}

func (v *vector) bytes() []byte {
	if v.Stream != nil {
		return []byte(*v.Stream)
	}
	return v.Base64
}

// vectors are all cases, by name.
func vectors(t testing.TB) map[string]vector {
	t.Helper()
	files, err := filepath.Glob("testdata/frames/*.json")
	require.NoError(t, err)
	all := map[string]vector{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		var v vector
		require.NoError(t, dec.Decode(&v), file)
		require.Equal(t, v.Name+".json", filepath.Base(file))
		require.NotEmpty(t, v.About, file)
		require.NotEqual(t, v.Stream == nil, v.Base64 == nil, "%s: stream or stream_base64", file)
		all[v.Name] = v
	}
	require.Greater(t, len(all), 35)
	return all
}

// played is what became of a stream.
type played struct {
	frames  []any
	retry   int64
	outcome string
}

func (v *vector) want(t testing.TB) played {
	p := played{frames: []any{}, retry: v.Retry, outcome: v.Outcome}
	for _, f := range v.Frames {
		p.frames = append(p.frames, value(t, f))
	}
	return p
}

var lone = regexp.MustCompile(`\\u[dD][89a-fA-F]..`)

// value is a frame's JSON as it is compared. The halves of surrogate pairs, all of which
// encoding/json would read as the same character, are kept apart.
func value(t testing.TB, raw []byte) (v any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(lone.ReplaceAll(raw, []byte(`\$0`)), &v), string(raw))
	return v
}

// play has a client's connection read what comes, up to the first outcome.
func (v *vector) play(t testing.TB, in io.Reader) played {
	client, err := (&Client{BaseURL: "http://x", MaxMessage: v.MaxMessage}).settle()
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(context.Background())
	c := newConn(ctx, cancel, io.NopCloser(in), &client)
	defer c.close()
	var pos position
	if v.Cursor != nil {
		pos.start(v.Cursor.RunID, v.Cursor.AfterSeq)
	}
	p := played{frames: []any{}}
	for p.outcome == "" {
		f, err := c.next()
		var do verdict
		if err == nil {
			do, err = pos.apply(f)
		}
		if do.deliver {
			p.frames = append(p.frames, value(t, f.AppendJSON(nil)))
		}
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			p.outcome = "cut"
		case errors.Is(err, ErrGap), errors.Is(err, ErrFrame):
			p.outcome = "malformed"
		case errors.Is(err, ErrTooLarge):
			p.outcome = "too_large"
		case err != nil:
			p.outcome = err.Error()
		case f.Type == End:
			p.outcome = "ended"
		}
	}
	p.retry = c.dec.Retry().Milliseconds()
	return p
}

func TestVectorsOfFrames(t *testing.T) {
	t.Parallel()
	for name, v := range vectors(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, want := v.bytes(), v.want(t)
			require.Equal(t, want, v.play(t, bytes.NewReader(in)), "whole")
			require.Equal(t, want, v.play(t, iotest.OneByteReader(bytes.NewReader(in))), "byte by byte")
			for at := range in {
				require.Equal(t, want, v.play(t, io.MultiReader(bytes.NewReader(in[:at]), bytes.NewReader(in[at:]))), "split at %d", at)
			}
		})
	}
}

// A vector that is cut anywhere is never a success before its end has arrived whole, and
// hands on nothing that it would not have handed on.
func TestVectorsOfFramesCutAnywhere(t *testing.T) {
	t.Parallel()
	for name, v := range vectors(t) {
		if v.Outcome != "ended" {
			continue
		}
		in, want := v.bytes(), v.want(t)
		for at := range in {
			got := v.play(t, bytes.NewReader(in[:at]))
			require.Contains(t, []string{"cut", "ended"}, got.outcome, "%s cut at %d", name, at)
			require.LessOrEqual(t, len(got.frames), len(want.frames))
			require.Equal(t, want.frames[:len(got.frames)], got.frames, "%s cut at %d", name, at)
			require.Equal(t, len(got.frames) == len(want.frames), got.outcome == "ended", "%s cut at %d", name, at)
		}
	}
}

// Sizes that nobody wants to keep in a file: a line of a MiB.
func TestVectorsOfFramesOfALargeLine(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("水", 1<<20/3)
	frames := []Frame{
		{Type: Snapshot, RunID: "r", Seq: 0},
		{Type: Event, RunID: "r", Seq: 1, Event: []byte(`{"delta":"` + text + `"}`)},
		{Type: End, RunID: "r", Seq: 1, End: subjects.End{Persisted: true, Reason: subjects.ReasonDone}},
	}
	v := vector{Outcome: "ended"}
	var in []byte
	for _, f := range frames {
		in = f.AppendSSE(in)
		v.Frames = append(v.Frames, f.AppendJSON(nil))
	}
	want := v.want(t)
	require.Equal(t, want, v.play(t, bytes.NewReader(in)))
	require.Equal(t, want, v.play(t, iotest.OneByteReader(bytes.NewReader(in))))
	v.MaxMessage = 1 << 20
	require.Equal(t, played{frames: want.frames[:1], outcome: "too_large"}, v.play(t, iotest.HalfReader(bytes.NewReader(in))))
}

// The client as a whole hands on the same, and takes for a success only what has ended.
func TestVectorsOfFramesByTheClient(t *testing.T) {
	t.Parallel()
	for name, v := range vectors(t) {
		answers := 0
		c := &Client{BaseURL: "http://x", MaxMessage: v.MaxMessage, Backoff: Backoff{Base: 1, Max: 1}}
		c.HTTP = &http.Client{Transport: trip(func(r *http.Request) *http.Response {
			if answers++; answers > 1 {
				return &http.Response{StatusCode: http.StatusTeapot, Body: http.NoBody, Request: r}
			}
			body := []byte(strings.ReplaceAll(string(v.bytes()), "retry", "retrx")) // nobody waits for it here
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: r}
		})}
		w := Watch{ChatID: "c1"}
		if v.Cursor != nil {
			w.RunID, w.AfterSeq = v.Cursor.RunID, &v.Cursor.AfterSeq
		}
		s := c.Watch(t.Context(), w)
		frames := []any{}
		f, err := s.Next(t.Context())
		for ; err == nil; f, err = s.Next(t.Context()) {
			frames = append(frames, value(t, f.AppendJSON(nil)))
		}
		require.Equal(t, v.want(t).frames, frames, name)
		ended := errors.Is(err, io.EOF) || errors.Is(err, ErrSuperseded) || errors.Is(err, ErrPersistence)
		require.Equal(t, v.Outcome == "ended", ended, "%s: %v", name, err)
		require.Equal(t, v.Outcome == "too_large", errors.Is(err, ErrTooLarge), "%s: %v", name, err)
		require.Equal(t, v.Outcome == "cut" || v.Outcome == "malformed", answers == 2, "%s: comes back: %v", name, err)
	}
}

type trip func(*http.Request) *http.Response

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }
