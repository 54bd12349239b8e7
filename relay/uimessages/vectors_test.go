package uimessages_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/relay/uimessages"
	"github.com/rejoin/rejoin/subjects"
)

// update writes the chunks of the vectors anew; what has changed is to be read before it is kept.
var update = flag.Bool("update", false, "write the chunks of the vectors anew")

// vector is one of consumer/testdata/uimessages, which other languages play too.
type vector struct {
	Name      string            `json:"name"`
	About     string            `json:"about"`
	MessageID string            `json:"message_id"`
	Events    []json.RawMessage `json:"events"`
	End       *subjects.End     `json:"end,omitempty"`
	Chunks    []json.RawMessage `json:"chunks"`
}

func vectors(t *testing.T) map[string]vector {
	t.Helper()
	paths, err := filepath.Glob("../../consumer/testdata/uimessages/*.json")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(paths), 10)
	all := map[string]vector{}
	for _, path := range paths {
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		var v vector
		d := json.NewDecoder(bytes.NewReader(body))
		d.DisallowUnknownFields()
		require.NoError(t, d.Decode(&v), path)
		require.Equal(t, filepath.Base(path), v.Name+".json")
		all[path] = v
	}
	return all
}

// chunks are what a mapper makes of events.
func chunks(t *testing.T, id string, events []json.RawMessage, end *subjects.End) []json.RawMessage {
	t.Helper()
	all := []json.RawMessage{}
	take := func(pieces ...[]byte) {
		one := bytes.Join(pieces, nil)
		require.True(t, json.Valid(one), "%s", one)
		all = append(all, one)
	}
	m := uimessages.New(id)
	for _, e := range events {
		m.Event(e, take)
	}
	if end != nil {
		m.End(*end, take)
	}
	return all
}

func TestVectors(t *testing.T) {
	t.Parallel()
	for path, v := range vectors(t) {
		var lines []json.RawMessage
		for _, e := range v.Events {
			lines = append(lines, agui.OneLine(e))
		}
		got := chunks(t, v.MessageID, lines, v.End)
		if *update {
			v.Chunks = got
			write(t, path, v)
			continue
		}
		require.Equal(t, plain(t, v.Chunks), plain(t, got), v.Name)
	}
}

// A snapshot has the same events, with deltas joined: the message that it makes is the same.
func TestASnapshotMakesTheSameMessage(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t) {
		for cut := range len(v.Events) + 1 {
			var fold agui.Fold
			for _, e := range v.Events[:cut] {
				var event agui.Event
				require.NoError(t, agui.Scan(agui.OneLine(e), &event))
				fold.Add(&event)
			}
			var events []json.RawMessage
			for line := range agui.Lines(fold.Cut()) {
				events = append(events, slices.Clone(line))
			}
			for _, e := range v.Events[cut:] {
				events = append(events, agui.OneLine(e))
			}
			require.Equal(t, joined(t, v.Chunks), joined(t, chunks(t, v.MessageID, events, v.End)), "%s, cut at %d", v.Name, cut)
		}
	}
}

// plain are chunks as values, whatever they are written like.
func plain(t *testing.T, raw []json.RawMessage) []any {
	t.Helper()
	all := make([]any, len(raw))
	for i, c := range raw {
		require.NoError(t, json.Unmarshal(c, &all[i]))
	}
	return all
}

// joined are chunks of which neighbouring deltas of one thing are one.
func joined(t *testing.T, raw []json.RawMessage) []any {
	t.Helper()
	var all []any
	for _, c := range plain(t, raw) {
		chunk := c.(map[string]any)
		if len(all) > 0 {
			last := all[len(all)-1].(map[string]any)
			if last["type"] == chunk["type"] && last["id"] == chunk["id"] && last["toolCallId"] == chunk["toolCallId"] {
				for _, key := range []string{"delta", "inputTextDelta"} {
					if more, ok := chunk[key].(string); ok {
						last[key] = last[key].(string) + more
						chunk = nil
						break
					}
				}
			}
		}
		if chunk != nil {
			all = append(all, chunk)
		}
	}
	return all
}

// write keeps a vector: one event and one chunk a line.
func write(t *testing.T, path string, v vector) {
	t.Helper()
	var b bytes.Buffer
	field := func(name string, value any, after string) {
		raw, err := json.Marshal(value)
		require.NoError(t, err)
		b.WriteString("  \"" + name + "\": " + string(raw) + after)
	}
	list := func(name string, all []json.RawMessage, after string) {
		b.WriteString("  \"" + name + "\": [\n    " + string(bytes.Join(raws(all), []byte(",\n    "))) + "\n  ]" + after)
	}
	b.WriteString("{\n")
	field("name", v.Name, ",\n")
	field("about", v.About, ",\n")
	field("message_id", v.MessageID, ",\n")
	list("events", v.Events, ",\n")
	if v.End != nil {
		field("end", v.End, ",\n")
	}
	list("chunks", v.Chunks, "\n}\n")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
}

func raws(all []json.RawMessage) [][]byte {
	out := make([][]byte, len(all))
	for i, r := range all {
		var b bytes.Buffer
		if json.Compact(&b, r) == nil {
			r = b.Bytes()
		}
		out[i] = r
	}
	return out
}
