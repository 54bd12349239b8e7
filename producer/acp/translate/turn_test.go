package translate_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/acp/translate"
)

func TestStartHasTheUsersMessage(t *testing.T) {
	t.Parallel()
	for input, messages := range map[string]string{
		`{"text":"hi \ud83d\ude00"}`: `{"id":"user-r","role":"user","content":"hi \ud83d\ude00"}`,
		`{"threadId":"x","runId":"y","forwardedProps":{"secret":1},"messages":[{"id":"u1","role":"user","content":"old"},{"id":"a1","role":"assistant","content":"x"},{"id":"u2","role":"user","content":[{"type":"text","text":"new"}]},{"id":"a2","role":"assistant","content":"y"}]}`: `{"id":"u2","role":"user","content":[{"type":"text","text":"new"}]}`,
		`{"messages":[{"role":"user","content":"x"}],"text":"not this"}`: `{"role":"user","content":"x","id":"user-r"}`,
		`{"messages":[],"resume":[]}`:                                    ``,
		`{}`:                                                             ``,
	} {
		tr := fresh(t, input)
		require.NoError(t, tr.Start())
		tr.gave(`{"type":"RUN_STARTED","threadId":"c","runId":"r","input":{"threadId":"c","runId":"r","messages":[` + messages + `],"tools":[],"context":[]}}`)
	}
	for _, input := range []string{``, `7`, `{"messages":{}}`} {
		tr := fresh(t, input)
		require.ErrorIs(t, tr.Start(), translate.ErrMalformed, input)
		require.Empty(t, tr.events, input)
	}
}

func TestFinishClosesWhatIsOpen(t *testing.T) {
	t.Parallel()
	tr := begin(t).updates(`{"sessionUpdate":"tool_call","toolCallId":"c1","title":"Wait","status":"in_progress","rawInput":{}}`, say("a"))
	tr.events = nil
	require.NoError(t, tr.Finish(json.RawMessage(`{"stopReason":"cancelled","_meta":{"n":1.0}}`)))
	tr.gave(
		`{"type":"TEXT_MESSAGE_END","messageId":"text-r-1"}`,
		`{"type":"ACTIVITY_SNAPSHOT","messageId":"activity-r-1","activityType":"acp.tool_call","content":{"toolCallId":"c1","title":"Wait","status":"cancelled","rawInput":{}},"replace":true}`,
		`{"type":"TOOL_CALL_RESULT","messageId":"result-r-1","toolCallId":"tool-r-1","content":"cancelled","role":"tool"}`,
		`{"type":"RUN_FINISHED","threadId":"c","runId":"r","result":{"stopReason":"cancelled","_meta":{"n":1.0}},"outcome":{"type":"cancelled"}}`,
	)
	require.ErrorIs(t, tr.Update(json.RawMessage(say("late"))), translate.ErrEnded)
	require.ErrorIs(t, tr.Finish(json.RawMessage(`{"stopReason":"end_turn"}`)), translate.ErrEnded)
	require.ErrorIs(t, tr.Fail("late", ""), translate.ErrEnded)
	_, _, err := tr.Question(translate.Permission, nil)
	require.ErrorIs(t, err, translate.ErrEnded)
	require.Empty(t, tr.events)
}

func TestFinishSaysWhyTheAgentStopped(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"end_turn", "max_tokens", "max_turn_requests", "refusal", "of_tomorrow"} {
		tr := begin(t)
		require.NoError(t, tr.Finish(json.RawMessage(`{"stopReason":"`+reason+`"}`)))
		tr.gave(`{"type":"RUN_FINISHED","threadId":"c","runId":"r","result":{"stopReason":"` + reason + `"}}`)
	}
}

func TestWhatWasStoppedIsCancelledWhateverTheAgentSays(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	tr.Stopped()
	require.NoError(t, tr.Finish(json.RawMessage(`{"stopReason":"end_turn"}`)))
	tr.gave(`{"type":"RUN_FINISHED","threadId":"c","runId":"r","result":{"stopReason":"end_turn"},"outcome":{"type":"cancelled"}}`)
}

func TestFailClosesWhatIsOpen(t *testing.T) {
	t.Parallel()
	tr := begin(t).updates(`{"sessionUpdate":"tool_call","toolCallId":"c1","title":"Wait"}`)
	tr.events = nil
	require.NoError(t, tr.Fail("the agent is gone", "agent_exit"))
	tr.gave(
		`{"type":"TOOL_CALL_ARGS","toolCallId":"tool-r-1","delta":"{}"}`,
		`{"type":"TOOL_CALL_END","toolCallId":"tool-r-1"}`,
		`{"type":"ACTIVITY_SNAPSHOT","messageId":"activity-r-1","activityType":"acp.tool_call","content":{"toolCallId":"c1","title":"Wait","status":"failed"},"replace":true}`,
		`{"type":"TOOL_CALL_RESULT","messageId":"result-r-1","toolCallId":"tool-r-1","content":"failed","role":"tool"}`,
		`{"type":"RUN_ERROR","message":"the agent is gone","code":"agent_exit"}`,
	)
}

func TestMalformedUpdatesSayWhatIsWrongAndTheTurnGoesOn(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	for update, says := range map[string]string{
		``:     "not one JSON object",
		`{`:    "found",
		`null`: "not one JSON object",
		`{}{}`: "malformed",
		`{"sessionUpdate":"plan","entries":[]}]]]],"x":[[[[{}`:                       "not one JSON object",
		"{\"sessionUpdate\":\"\xff\"}":                                               "UTF-8",
		strings.Repeat(`{"a":`, 600) + `1` + strings.Repeat(`}`, 600):                "nested",
		`{"sessionUpdate":7}`:                                                        `"sessionUpdate" has to be`,
		`{"sessionUpdate":""}`:                                                       `"sessionUpdate" has to be`,
		`{"sessionUpdate":"agent_message_chunk"}`:                                    `"content" of a chunk`,
		`{"sessionUpdate":"agent_message_chunk","content":{}}`:                       `"type" of a content block`,
		`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":7}}`: `"text" of a text block`,
		`{"sessionUpdate":"tool_call","title":"x"}`:                                  `tool_call: its "toolCallId"`,
		`{"sessionUpdate":"tool_call_update","toolCallId":{}}`:                       `tool_call_update: its "toolCallId"`,
		`{"sessionUpdate":"plan","entries":{}}`:                                      `"entries" have to be an array`,
	} {
		err := tr.Update(json.RawMessage(update))
		require.ErrorIs(t, err, translate.ErrMalformed, update)
		require.ErrorContains(t, err, says, update)
		require.Empty(t, tr.events, update)
	}
	for _, result := range []string{``, `{}`, `{"stopReason":null}`} {
		require.ErrorIs(t, tr.Finish(json.RawMessage(result)), translate.ErrMalformed, result)
	}
	tr.updates(say("still here"))
	require.Len(t, tr.events, 2)
}

// An event that is refused leaves nothing open: those after it are tried all the same.
func TestRefusedEventsAreToldAndNotTheEnd(t *testing.T) {
	t.Parallel()
	refusal := errors.New("too large")
	var types []string
	tr := translate.New(translate.Config{ChatID: "c", RunID: "r"}, func(event []byte) error {
		var e struct{ Type string }
		require.NoError(t, json.Unmarshal(event, &e))
		if types = append(types, e.Type); e.Type == "ACTIVITY_SNAPSHOT" {
			return refusal
		}
		return nil
	})
	err := tr.Update(json.RawMessage(`{"sessionUpdate":"tool_call","toolCallId":"x","title":"t","status":"completed"}`))
	require.ErrorIs(t, err, refusal)
	require.NotErrorIs(t, err, translate.ErrMalformed)
	require.Equal(t, []string{"TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "ACTIVITY_SNAPSHOT", "TOOL_CALL_RESULT"}, types)
	require.NoError(t, tr.Update(json.RawMessage(say("next"))), "an error is told once")
}
