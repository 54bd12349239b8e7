package translate_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/acp/translate"
)

func TestToolCallFromStartToResult(t *testing.T) {
	t.Parallel()
	tr := begin(t).updates(
		say("Let me see."),
		`{"sessionUpdate":"tool_call","toolCallId":"call_1","title":"Read it","kind":"read","status":"pending","rawInput":{}}`,
	)
	tr.gave(
		`{"type":"TEXT_MESSAGE_START","messageId":"text-r-1","role":"assistant"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"text-r-1","delta":"Let me see."}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"text-r-1"}`,
		`{"type":"TOOL_CALL_START","toolCallId":"tool-r-1","toolCallName":"read"}`,
		`{"type":"ACTIVITY_SNAPSHOT","messageId":"activity-r-1","activityType":"acp.tool_call","content":{"toolCallId":"call_1","title":"Read it","kind":"read","status":"pending","rawInput":{}},"replace":true}`,
	)

	// The input may change until the call runs, then it is told once.
	tr.updates(`{"sessionUpdate":"tool_call_update","toolCallId":"call_1","rawInput":{"n":12345678901234567890,"s":"<\ud83d\ude00>"}}`)
	tr.gave(
		`{"type":"ACTIVITY_SNAPSHOT","messageId":"activity-r-1","activityType":"acp.tool_call","content":{"toolCallId":"call_1","title":"Read it","kind":"read","status":"pending","rawInput":{"n":12345678901234567890,"s":"<\ud83d\ude00>"}},"replace":true}`,
	)
	tr.updates(`{"sessionUpdate":"tool_call_update","toolCallId":"call_1","status":"in_progress","rawInput":null,"x-new":[1]}`)
	tr.gave(
		`{"type":"TOOL_CALL_ARGS","toolCallId":"tool-r-1","delta":"{\"n\":12345678901234567890,\"s\":\"<\\ud83d\\ude00>\"}"}`,
		`{"type":"TOOL_CALL_END","toolCallId":"tool-r-1"}`,
		`{"type":"ACTIVITY_SNAPSHOT","messageId":"activity-r-1","activityType":"acp.tool_call","content":{"toolCallId":"call_1","title":"Read it","kind":"read","status":"in_progress","rawInput":{"n":12345678901234567890,"s":"<\ud83d\ude00>"},"x-new":[1]},"replace":true}`,
	)

	// The text that goes on while it runs is not cut by its updates, and its end comes once.
	tr.updates(say("Meanwhile, "))
	tr.events = nil
	tr.updates(
		`{"sessionUpdate":"tool_call_update","toolCallId":"call_1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"# Read"}}]}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"call_1","status":"completed","content":[]}`,
		say("done"),
	)
	tr.gave(
		`{"type":"ACTIVITY_SNAPSHOT","messageId":"activity-r-1","activityType":"acp.tool_call","content":{"toolCallId":"call_1","title":"Read it","kind":"read","status":"completed","rawInput":{"n":12345678901234567890,"s":"<\ud83d\ude00>"},"x-new":[1],"content":[{"type":"content","content":{"type":"text","text":"# Read"}}]},"replace":true}`,
		`{"type":"TOOL_CALL_RESULT","messageId":"result-r-1","toolCallId":"tool-r-1","content":"# Read","role":"tool"}`,
		`{"type":"ACTIVITY_SNAPSHOT","messageId":"activity-r-1","activityType":"acp.tool_call","content":{"toolCallId":"call_1","title":"Read it","kind":"read","status":"completed","rawInput":{"n":12345678901234567890,"s":"<\ud83d\ude00>"},"x-new":[1],"content":[]},"replace":true}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"text-r-2","delta":"done"}`,
	)
}

// Some agents never send tool_call, some tell all of a call at once.
func TestToolCallThatStartsWithAnUpdate(t *testing.T) {
	t.Parallel()
	tr := begin(t).updates(`{"sessionUpdate":"tool_call_update","toolCallId":"x","status":"failed"}`)
	tr.gave(
		`{"type":"TOOL_CALL_START","toolCallId":"tool-r-1","toolCallName":"tool"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"tool-r-1","delta":"{}"}`,
		`{"type":"TOOL_CALL_END","toolCallId":"tool-r-1"}`,
		`{"type":"ACTIVITY_SNAPSHOT","messageId":"activity-r-1","activityType":"acp.tool_call","content":{"toolCallId":"x","status":"failed"},"replace":true}`,
		`{"type":"TOOL_CALL_RESULT","messageId":"result-r-1","toolCallId":"tool-r-1","content":"failed","role":"tool"}`,
	)
}

func TestToolName(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]string{
		`"name":"Bash","kind":"execute","title":"List"`: "Bash",
		`"name":null,"kind":"execute","title":"List"`:   "execute",
		`"title":"List"`: "List",
		`"title":"` + strings.Repeat("é", 150) + `"`: strings.Repeat("é", 100),
		`"title":7`: "tool",
	} {
		tr := begin(t).updates(`{"sessionUpdate":"tool_call","toolCallId":"x",` + fields + `}`)
		require.Contains(t, tr.events[0], `"toolCallName":"`+want+`"`)
	}
}

func TestToolCallResultSaysWhatThereIs(t *testing.T) {
	t.Parallel()
	const diff = `[{"type":"diff","path":"/a","oldText":null,"newText":"b"}]`
	for fields, want := range map[string]string{
		`"status":"completed"`:                        `completed`,
		`"status":"completed","rawOutput":{"a":1.50}`: `{\"a\":1.50}`,
		`"status":"completed","rawOutput":"plain"`:    `plain`,
		`"status":"completed","content":` + diff:      strings.ReplaceAll(diff, `"`, `\"`),
		`"status":"failed","rawOutput":1,"content":[{"type":"content","content":{"type":"text","text":"a"}},{"type":"content","content":{"type":"resource","resource":{"uri":"x:y","text":"b"}}}]`: `a\nb`,
		`"status":"cancelled","content":{"not":"an array"}`: `{\"not\":\"an array\"}`,
	} {
		tr := begin(t).updates(`{"sessionUpdate":"tool_call","toolCallId":"x","title":"t",` + fields + `}`)
		require.Contains(t, tr.events[len(tr.events)-1], `"content":"`+want+`","role"`)
	}
}

func TestRecordThatIsTooLargeForAnEventLosesItsLargestFields(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 7<<20)
	tr := begin(t).updates(`{"sessionUpdate":"tool_call","toolCallId":"x","title":"t","status":"completed","rawInput":"` + big + `","rawOutput":"` + big + `y"}`)
	require.Contains(t, tr.events[len(tr.events)-2], `"omitted":["rawOutput"]}`)
	for _, e := range tr.events {
		require.Less(t, len(e), 16<<20)
	}
	last := tr.events[len(tr.events)-1]
	require.Contains(t, last, `TOOL_CALL_RESULT`)
	require.Less(t, len(last), 5<<20)
}

func TestCallsAreForgottenBeforeTheyFillTheMemory(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	for i := range 5000 { // 4,096 are known; none of them ends by itself
		tr.updates(fmt.Sprintf(`{"sessionUpdate":"tool_call","toolCallId":"%d","title":"t"}`, i))
	}
	tr.updates(`{"sessionUpdate":"tool_call_update","toolCallId":"0","title":"t"}`, `{"sessionUpdate":"tool_call_update","toolCallId":"4999","title":"t"}`)
	require.NoError(t, tr.Finish(json.RawMessage(`{"stopReason":"end_turn"}`)))
	all := strings.Join(tr.events, "\n")
	require.Equal(t, 5001, strings.Count(all, "TOOL_CALL_START"), "the first one is not known any more, the last one is")
	require.Equal(t, 5001, strings.Count(all, "TOOL_CALL_END"))
	require.Equal(t, 5001, strings.Count(all, "TOOL_CALL_RESULT"))
}

func TestLargeCallsAreForgottenSooner(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 8<<20)
	starts := 0
	tr := translate.New(translate.Config{ChatID: "c", RunID: "r"}, func(e []byte) error {
		starts += bytes.Count(e[:min(len(e), 64)], []byte("TOOL_CALL_START"))
		return nil
	})
	update := func(id int, fields string) {
		require.NoError(t, tr.Update(json.RawMessage(fmt.Sprintf(`{"sessionUpdate":"tool_call_update","toolCallId":"%d"%s}`, id, fields))))
	}
	update(0, ``) // open, and so the last to go
	for i := range 10 {
		update(i+1, `,"status":"completed","rawOutput":"`+big+`"`)
	}
	require.Equal(t, 11, starts)
	update(0, ``)
	update(10, ``)
	require.Equal(t, 11, starts, "these are known")
	update(1, ``)
	require.Equal(t, 12, starts, "64 MiB are kept, and the oldest that was over is not")
}

func TestTerminalsShowWhatTheyPrint(t *testing.T) {
	t.Parallel()
	var events []string
	tr := translate.New(translate.Config{ChatID: "c", RunID: "r", Terminal: func(id string) json.RawMessage {
		if id != "t1" {
			return nil
		}
		return json.RawMessage(`{"output":"ok","truncated":false}`)
	}}, func(e []byte) error { events = append(events, string(e)); return nil })
	require.NoError(t, tr.Update(json.RawMessage(`{"sessionUpdate":"tool_call","toolCallId":"x","title":"t","content":[{"type":"terminal","terminalId":"t1"},{"type":"terminal","terminalId":"t2"}]}`)))
	require.Contains(t, events[1], `"content":[{"type":"terminal","terminalId":"t1","terminal":{"output":"ok","truncated":false}},{"type":"terminal","terminalId":"t2"}]`)
}
