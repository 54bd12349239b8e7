package translate_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/producer/acp/translate"
)

// turn is a translator and what came out of it.
type turn struct {
	*testing.T
	*translate.Translator
	events []string
}

// begin makes a started turn of run r in chat c.
func begin(t *testing.T) *turn {
	tr := fresh(t, `{"text":"hi"}`)
	require.NoError(t, tr.Start())
	tr.events = nil
	return tr
}

func fresh(t *testing.T, input string) *turn {
	tr := &turn{T: t}
	tr.Translator = translate.New(translate.Config{ChatID: "c", RunID: "r", Input: json.RawMessage(input)}, func(event []byte) error {
		var e agui.Event
		require.NoError(t, agui.Scan(event, &e), "%s", event)
		require.Equal(t, event, e.Raw, "an event is one line")
		tr.events = append(tr.events, string(event))
		return nil
	})
	return tr
}

// updates sends updates that are all right.
func (t *turn) updates(all ...string) *turn {
	t.Helper()
	for _, u := range all {
		require.NoError(t, t.Update(json.RawMessage(u)), u)
	}
	return t
}

// gave says what came out since the last time.
func (t *turn) gave(events ...string) {
	t.Helper()
	require.Equal(t, strings.Join(events, "\n"), strings.Join(t.events, "\n"))
	t.events = nil
}

// say is a chunk of the answer.
func say(text string) string {
	return `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + text + `"}}`
}
