package agui_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// recording is one run of an agent.
type recording struct {
	name   string
	input  string   // path of the RunAgentInput
	events [][]byte // in order, without line breaks
	sse    []byte   // what the agent's own server sent
}

// recordings loads every run of testdata.
func recordings(t *testing.T) []recording {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.ndjson")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	var all []recording
	for _, path := range paths {
		all = append(all, load(t, strings.TrimSuffix(filepath.Base(path), ".ndjson")))
	}
	return all
}

func load(t *testing.T, name string) recording {
	t.Helper()
	lines, err := os.ReadFile("testdata/" + name + ".ndjson")
	require.NoError(t, err)
	require.True(t, bytes.HasSuffix(lines, []byte("\n")), "%s: the last line has no end", name)
	r := recording{name: name, input: "testdata/" + name + ".input.json"}
	r.events = slices.Collect(bytes.SplitSeq(bytes.TrimSuffix(lines, []byte("\n")), []byte("\n")))
	r.sse = frames(r.events...)
	// A transcript written by hand has no body of its own; a recorded one is served as it was sent.
	if body, err := os.ReadFile("testdata/" + name + ".sse"); err == nil {
		require.Equal(t, string(body), string(r.sse), "%s: the .sse and .ndjson files differ", name)
	} else {
		require.ErrorIs(t, err, os.ErrNotExist)
		require.True(t, strings.HasPrefix(name, "handwritten-"), "%s: no .sse file", name)
	}
	return r
}

// threadID is the thread that the run's input names.
func (r recording) threadID(t *testing.T) string {
	t.Helper()
	var input struct {
		ThreadID string `json:"threadId"`
	}
	body, err := os.ReadFile(r.input)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(body, &input))
	return input.ThreadID
}

// frames is plain AG-UI: each event on a data line, each followed by an empty line.
func frames(events ...[]byte) []byte {
	var body []byte
	for _, event := range events {
		body = append(append(append(body, "data: "...), event...), "\n\n"...)
	}
	return body
}

// agent serves body the way an agent's endpoint does and returns its URL.
func agent(t *testing.T, body []byte) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
