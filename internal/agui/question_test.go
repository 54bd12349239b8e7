package agui_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
)

func lines(events [][]byte) (all []string) {
	for _, e := range events {
		all = append(all, string(e))
	}
	return all
}

func TestAQuestionIsAskedAndClosed(t *testing.T) {
	t.Parallel()
	q := agui.Question{
		Name: "acp.permission", RequestID: "1abc:1", MessageID: "question-1",
		Value:   json.RawMessage(`{"title":"Write <file>?","status":"x","n":1.50,"options":[{"optionId":"allow"},{"optionId":"deny"}]}`),
		Options: []string{"allow", "deny"},
	}
	asked := agui.RequestEvents(q)
	require.Equal(t, []string{
		`{"type":"CUSTOM","name":"acp.permission.request","value":{"title":"Write <file>?","n":1.50,"options":[{"optionId":"allow"},{"optionId":"deny"}],"requestId":"1abc:1","messageId":"question-1","status":"pending"}}`,
		`{"type":"ACTIVITY_SNAPSHOT","messageId":"question-1","activityType":"acp.permission","content":{"title":"Write <file>?","n":1.50,"options":[{"optionId":"allow"},{"optionId":"deny"}],"requestId":"1abc:1","messageId":"question-1","status":"pending"},"replace":true}`,
	}, lines(asked))

	seen, ok := agui.Asked(scan(t, string(asked[0])))
	require.True(t, ok)
	require.Equal(t, q.RequestID, seen.RequestID)
	require.Equal(t, q.MessageID, seen.MessageID)
	require.Equal(t, q.Name, seen.Name)
	require.Equal(t, q.Options, seen.Options)
	require.Equal(t, asked, agui.RequestEvents(seen), "what is recognised can be asked again")

	closed := agui.ResolvedEvents(seen, "selected", json.RawMessage(`{"outcome":"selected","optionId":"allow"}`), "")
	require.Equal(t, []string{
		`{"type":"CUSTOM","name":"acp.permission.resolved","value":{"requestId":"1abc:1","status":"selected","outcome":{"outcome":"selected","optionId":"allow"}}}`,
		`{"type":"ACTIVITY_SNAPSHOT","messageId":"question-1","activityType":"acp.permission","content":{"title":"Write <file>?","n":1.50,"options":[{"optionId":"allow"},{"optionId":"deny"}],"requestId":"1abc:1","messageId":"question-1","status":"selected","outcome":{"outcome":"selected","optionId":"allow"}},"replace":true}`,
	}, lines(closed))
	id, status, ok := agui.Resolved(scan(t, string(closed[0])))
	require.True(t, ok)
	require.Equal(t, "1abc:1", id)
	require.Equal(t, "selected", status)
}

func TestAQuestionWithoutMessageHasOneEvent(t *testing.T) {
	t.Parallel()
	q := agui.Question{Name: "x", RequestID: "1", Value: json.RawMessage(`[]`)}
	require.Equal(t, []string{`{"type":"CUSTOM","name":"x.request","value":{"requestId":"1","status":"pending"}}`}, lines(agui.RequestEvents(q)))
	require.Equal(t, []string{`{"type":"CUSTOM","name":"x.resolved","value":{"requestId":"1","status":"expired","reason":"the run was lost"}}`},
		lines(agui.ResolvedEvents(q, "expired", json.RawMessage(`"no object"`), "the run was lost")))
}

// Producers over HTTP ask in their own way.
func TestQuestionsOfAnyProducerAreRecognised(t *testing.T) {
	t.Parallel()
	ask := func(name, value string) (agui.Question, bool) {
		return agui.Asked(scan(t, `{"value":`+value+`,"name":"`+name+`","type":"CUSTOM"}`))
	}
	q, ok := ask("mine.request", `{"requestId":"\u0031","options":["a","b"],"deep":{"requestId":"2"}}`)
	require.True(t, ok)
	require.Equal(t, "1", q.RequestID)
	require.Empty(t, q.MessageID)
	require.Equal(t, []string{"a", "b"}, q.Options)

	for _, options := range []string{`["a",7]`, `["a",""]`, `{}`, `"a"`, `[{"id":"a"}]`, `[` + strings.Repeat(`"a",`, 200) + `"a"]`, `[]`} {
		q, ok = ask("mine.request", `{"requestId":"1","options":`+options+`}`)
		require.True(t, ok)
		require.Nil(t, q.Options, options)
	}
	for name, value := range map[string]string{
		"mine.asked":                            `{"requestId":"1"}`,
		".request":                              `{"requestId":"1"}`,
		strings.Repeat("n", 65) + ".request":    `{"requestId":"1"}`,
		"a.request":                             `{"requestId":1}`,
		"b.request":                             `{"requestId":""}`,
		"c.request":                             `{"requestId":"\ud800"}`,
		"d.request":                             `{"requestId":"` + strings.Repeat("x", 257) + `"}`,
		"e.request":                             `"requestId"`,
		"f.request":                             `[{"requestId":"1"}]`,
		strings.Repeat("x", 4000) + "g.request": `{"requestId":"1"}`,
	} {
		_, ok := ask(name, value)
		require.False(t, ok, "%.80s %.80s", name, value)
	}
	_, ok = agui.Asked(scan(t, `{"type":"RAW","name":"x.request","value":{"requestId":"1"}}`))
	require.False(t, ok)
	_, ok = agui.Asked(scan(t, `{"type":"CUSTOM"}`))
	require.False(t, ok)
	_, _, ok = agui.Resolved(scan(t, `{"type":"CUSTOM","name":"x.resolved","value":{}}`))
	require.False(t, ok)
}

func TestWhatIsKeptOfAQuestionIsSmall(t *testing.T) {
	t.Parallel()
	q := agui.Question{Name: "x", RequestID: "1", MessageID: "m", Value: json.RawMessage(`{"title":"T` + strings.Repeat("é", 600) + `","diff":"` + strings.Repeat("d", 20<<10) + `"}`), Options: []string{"a"}}
	s := q.Small()
	require.Less(t, len(s.Value), 1100)
	require.True(t, strings.HasPrefix(string(s.Value), `{"title":"Té`))
	require.Equal(t, q.Options, s.Options)
	require.Equal(t, s, s.Small())
	require.Len(t, agui.ResolvedEvents(s, "cancelled", nil, ""), 2)

	q.Options = []string{strings.Repeat("o", 20<<10)}
	q.Value = json.RawMessage(`{"a":1}`)
	require.Nil(t, q.Small().Options)
	require.Equal(t, q.Value, q.Small().Value)
}

// Nothing is allocated for the events that are not questions, which is nearly all.
func TestOtherEventsCostNothing(t *testing.T) {
	for _, raw := range []string{text("m", "x"), `{"type":"CUSTOM","name":"progress","value":{"requestId":"1"}}`} {
		e := scan(t, raw)
		var o agui.Open
		require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
			agui.Asked(e)
			agui.Resolved(e)
			agui.Interrupts(e)
			o.Add(e)
		}), 2.0)
	}
}

// FuzzQuestion: what is recognised can be asked, kept and closed, by events that are
// recognised again.
func FuzzQuestion(f *testing.F) {
	f.Add([]byte(`{"type":"CUSTOM","name":"a.request","value":{"requestId":"1","messageId":"m","options":[{"optionId":"x"},{"optionId":"y"}]}}`), []byte(`{"outcome":"selected"}`), "r")
	f.Add([]byte(`{"type":"CUSTOM","name":"\u0061.request","value":{"requestId":"\u0000","request\u0049d":"\ud83d\ude00","options":["a"],"":[{}]}}`), []byte(`[`), "")
	f.Fuzz(func(t *testing.T, raw, outcome []byte, reason string) {
		var e agui.Event
		if agui.Scan(raw, &e) != nil {
			return
		}
		q, ok := agui.Asked(&e)
		if !ok {
			return
		}
		for _, q := range []agui.Question{q, q.Small()} {
			asked := agui.RequestEvents(q)
			again, ok := agui.Asked(scan(t, string(asked[0])))
			require.True(t, ok)
			require.Equal(t, q.RequestID, again.RequestID)
			require.Equal(t, q.MessageID, again.MessageID)
			closed := agui.ResolvedEvents(q, "answered", outcome, reason)
			require.Len(t, closed, len(asked))
			id, status, ok := agui.Resolved(scan(t, string(closed[0])))
			require.True(t, ok)
			require.Equal(t, q.RequestID, id)
			require.Equal(t, "answered", status)
			if len(closed) > 1 {
				scan(t, string(closed[1]))
			}
		}
	})
}
