package translate_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/acp/translate"
)

const options = `[{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]`

func TestPermissionReportsItsCallFirst(t *testing.T) {
	t.Parallel()
	tr := begin(t).updates(say("May I?"), `{"sessionUpdate":"tool_call","toolCallId":"c1","title":"Edit","kind":"edit","rawInput":{"a":1}}`, say("Wait."))
	tr.events = nil
	value, ids, err := tr.Question(translate.Permission, json.RawMessage(
		`{"sessionId":"secret","toolCall":{"toolCallId":"c1","title":"Edit a","content":[{"type":"diff","path":"/a","newText":"b"}]},"options":`+options+`,"_meta":{"k":1}}`))
	require.NoError(t, err)
	const record = `{"toolCallId":"c1","title":"Edit a","kind":"edit","rawInput":{"a":1},"content":[{"type":"diff","path":"/a","newText":"b"}]}`
	tr.gave(
		`{"type":"ACTIVITY_SNAPSHOT","messageId":"activity-r-1","activityType":"acp.tool_call","content":`+record+`,"replace":true}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"text-r-2"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"tool-r-1","delta":"{\"a\":1}"}`,
		`{"type":"TOOL_CALL_END","toolCallId":"tool-r-1"}`,
	)
	require.Equal(t, []string{"yes", "no"}, ids)
	got, err := json.Marshal(value)
	require.NoError(t, err)
	require.JSONEq(t, `{"toolCall":`+record+`,"toolCallId":"tool-r-1","options":`+options+`,"_meta":{"k":1}}`, string(got))
}

func TestPermissionForACallThatNobodyHeardOf(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	value, _, err := tr.Question(translate.Permission, json.RawMessage(`{"sessionId":"s","toolCall":{"toolCallId":"c1","title":"Edit"},"options":`+options+`}`))
	require.NoError(t, err)
	require.Equal(t, "tool-r-1", value["toolCallId"])
	tr.gave(
		`{"type":"TOOL_CALL_START","toolCallId":"tool-r-1","toolCallName":"Edit"}`,
		`{"type":"ACTIVITY_SNAPSHOT","messageId":"activity-r-1","activityType":"acp.tool_call","content":{"toolCallId":"c1","title":"Edit"},"replace":true}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"tool-r-1","delta":"{}"}`,
		`{"type":"TOOL_CALL_END","toolCallId":"tool-r-1"}`,
	)
}

func TestForm(t *testing.T) {
	t.Parallel()
	tr := begin(t).updates(`{"sessionUpdate":"tool_call","toolCallId":"c1","title":"Edit"}`)
	value, ids, err := tr.Question(translate.Elicitation, json.RawMessage(
		`{"sessionId":"s","toolCallId":"c1","mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{"n":{"type":"number","maximum":1.50}}}}`))
	require.NoError(t, err)
	require.Nil(t, ids, "any object is an answer")
	got, err := json.Marshal(value)
	require.NoError(t, err)
	require.Equal(t, `{"message":"Who?","mode":"form","requestedSchema":{"type":"object","properties":{"n":{"type":"number","maximum":1.50}}},"toolCallId":"tool-r-1"}`, string(got))
}

// What is behind a link to sign in is nobody else's business: no log may have it.
func TestOfALinkOnlyTheHostIsTold(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	value, _, err := tr.Question(translate.Elicitation, json.RawMessage(
		`{"sessionId":"s","mode":"url","message":"Sign in","elicitationId":"e1","url":"https://user:pass@login.example:8443/x?token=secret#frag","_meta":{"token":"secret"}}`))
	require.NoError(t, err)
	got, err := json.Marshal(value)
	require.NoError(t, err)
	require.Equal(t, `{"elicitationId":"e1","host":"login.example:8443","message":"Sign in","mode":"url"}`, string(got))
	require.Empty(t, tr.events)
}

func TestMalformedQuestionsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	const call = `"toolCall":{"toolCallId":"c"}`
	for _, c := range []struct{ name, params, says string }{
		{translate.Permission, `[]`, "not one JSON object"},
		{translate.Permission, `{` + call + `}`, `"options" have to be an array`},
		{translate.Permission, `{` + call + `,"options":[]}`, `at least one`},
		{translate.Permission, `{` + call + `,"options":[{"optionId":"a"},{"optionId":7}]}`, `"optionId" of option 1`},
		{translate.Permission, `{"options":` + options + `}`, `"toolCall" has to be an object`},
		{translate.Permission, `{"toolCall":{},"options":` + options + `}`, `"toolCallId" has to be`},
		{translate.Elicitation, `{"mode":"form","requestedSchema":{}}`, `"message" has to be a string`},
		{translate.Elicitation, `{"message":"m","mode":"form"}`, `"requestedSchema" has to be an object`},
		{translate.Elicitation, `{"message":"m","mode":"url","url":"javascript:alert(1)"}`, `"url" has to be`},
		{translate.Elicitation, `{"message":"m","mode":"voice"}`, `allowed are form and url`},
		{"acp.other", `{}`, `allowed are acp.permission and acp.elicitation`},
	} {
		tr := begin(t)
		_, _, err := tr.Question(c.name, json.RawMessage(c.params))
		require.ErrorIs(t, err, translate.ErrMalformed, c.params)
		require.ErrorContains(t, err, c.says, c.params)
		require.Empty(t, tr.events, c.params)
	}
}
