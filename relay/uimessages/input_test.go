package uimessages_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/relay/uimessages"
)

func TestInput(t *testing.T) {
	t.Parallel()
	messages := []json.RawMessage{
		json.RawMessage(`{"id":"s","role":"system","parts":[{"type":"text","text":"be <kind>"}]}`),
		json.RawMessage(`{"id":"u1","role":"user","parts":[{"type":"text","text":"look"},{"type":"text","text":"here"},{"type":"data-x","data":1}]}`),
		json.RawMessage(`{"id":"u2","role":"user","parts":[{"type":"text","text":"and these"},
			{"type":"file","mediaType":"image/png","url":"data:image/png;base64,AAAA","filename":"a.png"},
			{"type":"file","mediaType":"application/pdf","url":"https://example.com/b.pdf"}]}`),
		json.RawMessage(`{"id":"a1","role":"assistant","parts":[{"type":"step-start"},{"type":"reasoning","text":"hm"},{"type":"text","text":"I look"},
			{"type":"tool-read","toolCallId":"c1","state":"output-available","input":{"path": "x"},"output":{"n": 1}},
			{"type":"dynamic-tool","toolName":"rm","toolCallId":"c2","state":"output-denied","input":{}},
			{"type":"dynamic-tool","toolName":"ls","toolCallId":"c3","state":"output-error","errorText":"no","rawInput":"{"},
			{"type":"dynamic-tool","toolName":"wait","toolCallId":"c4","state":"input-available","input":{}},
			{"type":"step-start"},{"type":"text","text":"Done"}]}`),
		json.RawMessage(`{"id":"a2","role":"assistant","parts":[{"type":"data-x","data":1}]}`),
	}
	got, err := uimessages.Input("chat", "run", messages, json.RawMessage(`{"k":1}`))
	require.NoError(t, err)
	require.True(t, agui.IsRunInput(got))
	var in map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(got, &in))
	require.Equal(t, `"chat"`, string(in["threadId"]))
	require.Equal(t, `"run"`, string(in["runId"]))
	require.Equal(t, `{"k":1}`, string(in["forwardedProps"]))
	require.Contains(t, string(got), "be <kind>")
	require.JSONEq(t, `[
		{"id":"s","role":"system","content":"be <kind>"},
		{"id":"u1","role":"user","content":"look\nhere"},
		{"id":"u2","role":"user","content":[{"type":"text","text":"and these"},
			{"type":"image","source":{"type":"data","value":"AAAA","mimeType":"image/png"},"metadata":{"filename":"a.png"}},
			{"type":"document","source":{"type":"url","value":"https://example.com/b.pdf","mimeType":"application/pdf"}}]},
		{"id":"a1","role":"assistant","content":"I look","toolCalls":[
			{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"path\":\"x\"}"}},
			{"id":"c2","type":"function","function":{"name":"rm","arguments":"{}"}},
			{"id":"c3","type":"function","function":{"name":"ls","arguments":"{}"}}]},
		{"id":"result-c1","role":"tool","toolCallId":"c1","content":"{\"n\":1}"},
		{"id":"result-c2","role":"tool","toolCallId":"c2","content":"denied"},
		{"id":"result-c3","role":"tool","toolCallId":"c3","content":"no"},
		{"id":"a1-4","role":"assistant","content":"Done"}]`, string(in["messages"]))
	require.Equal(t, "and these", agui.UserText(got))
}

// Whatever a client posts, what comes of it is a RunAgentInput.
func TestInputOfAnything(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`7`, `null`, `[]`, `{}`, `{"role":7,"parts":{}}`, `{"role":"assistant","parts":[null,7,{"type":"text","text":7},{"type":"tool-"},{"type":"tool-x","toolCallId":"c","state":"output-available"}]}`,
		`{"role":"user","parts":[{"type":"file"},{"type":"file","url":"data:,"}]}`} {
		got, err := uimessages.Input("c", "r", []json.RawMessage{json.RawMessage(raw)}, json.RawMessage(`{}`))
		require.NoError(t, err, raw)
		require.True(t, json.Valid(got), "%s: %s", raw, got)
		require.True(t, agui.IsRunInput(got), raw)
	}
}
