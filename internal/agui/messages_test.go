package agui_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
)

func listed(m *agui.Messages) string {
	return "[" + string(bytes.Join(toBytes(m.List()), []byte(","))) + "]"
}

func toBytes(list []json.RawMessage) (out [][]byte) {
	for _, raw := range list {
		out = append(out, raw)
	}
	return out
}

// said and argued are deltas with a body as written.
func said(id, body string) string {
	return `{"type":"TEXT_MESSAGE_CONTENT","messageId":"` + id + `","delta":"` + body + `"}`
}

func argued(id, body string) string {
	return `{"type":"TOOL_CALL_ARGS","toolCallId":"` + id + `","delta":"` + body + `"}`
}

func turn(t *testing.T, m *agui.Messages, run, input string, events ...string) {
	t.Helper()
	require.NoError(t, m.AddTurn(run, json.RawMessage(input), []byte(strings.Join(events, "\n"))))
}

// What stock agents said comes to the same messages as in the stock client, folded or not.
func TestMessagesAreThoseOfTheStockClient(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../../test/agui/testdata/*.golden.json")
	require.NoError(t, err)
	compared := 0
	for _, path := range paths {
		name := strings.TrimSuffix(path, ".golden.json")
		read := func(ext string) []byte {
			raw, err := os.ReadFile(name + ext)
			require.NoError(t, err)
			return raw
		}
		var golden struct {
			Outcome  string
			Messages []map[string]any
		}
		require.NoError(t, json.Unmarshal(read(".golden.json"), &golden))
		if golden.Outcome == "rejected" {
			continue
		}
		compared++
		var want []map[string]any
		for _, m := range golden.Messages {
			if delete(m, "metadata"); m["role"] != "reasoning" && m["role"] != "activity" {
				want = append(want, m)
			}
		}
		var fold agui.Fold
		_, err := fold.AddLines(read(".ndjson"))
		require.NoError(t, err)
		for _, events := range [][]byte{read(".ndjson"), fold.AppendTo(nil)} {
			var m agui.Messages
			require.NoError(t, m.AddTurn("run", read(".input.json"), events))
			var got []map[string]any
			require.NoError(t, json.Unmarshal([]byte(listed(&m)), &got))
			require.Equal(t, want, got, name)
		}
	}
	require.Greater(t, compared, 5)
}

func TestTurnsOfTextAddUp(t *testing.T) {
	t.Parallel()
	var m agui.Messages
	turn(t, &m, "r1", `{"text":"one"}`, started, said("a", `\ud83d`), // of nothing that began
		`{"type":"TEXT_MESSAGE_START","messageId":"a"}`, said("a", `x\ud83d`), said("a", `\ude00`), `{"type":"TEXT_MESSAGE_END","messageId":"a"}`,
		`{"type":"REASONING_MESSAGE_START","messageId":"th","role":"reasoning"}`, `{"type":"REASONING_MESSAGE_CONTENT","messageId":"th","delta":"hm"}`)
	turn(t, &m, "r2", `{"text":"two"}`, started,
		`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"b"}`, argued("c", `{\"k\"`), argued("c", `:1}`),
		`{"type":"TEXT_MESSAGE_CHUNK","messageId":"b2","role":"assistant","delta":"done"}`,
		`{"type":"TOOL_CALL_RESULT","messageId":"t","toolCallId":"c","content":"ok"}`)
	turn(t, &m, "r3", `{"resume":[]}`)
	require.Equal(t, `[{"id":"user-r1","role":"user","content":"one"},{"id":"a","role":"assistant","content":"x\ud83d\ude00"},`+
		`{"id":"user-r2","role":"user","content":"two"},{"id":"b","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"k\":1}"}}]},`+
		`{"id":"t","role":"tool","content":"ok","toolCallId":"c"},{"id":"b2","role":"assistant","content":"done"}]`, listed(&m))
}

// A client's own input is the whole chat, also where it was edited, unless it shares
// nothing with what there is.
func TestAClientsInputTakesThePlace(t *testing.T) {
	t.Parallel()
	var m agui.Messages
	turn(t, &m, "r1", `{"messages":[{"id":"1","role":"user","content":"a"}]}`, `{"type":"TEXT_MESSAGE_START","messageId":"2"}`)
	turn(t, &m, "r2", `{"messages":[{"id":"1","role":"user","content":"a"},{"id":"2","role":"assistant","content":""},{"id":"th","role":"reasoning","content":"x"},{"id":"3","role":"user","content":[{"type":"text","text":"b"}]}]}`,
		said("2", "more"), said("3", "!"))
	require.Equal(t, `[{"id":"1","role":"user","content":"a"},{"id":"2","role":"assistant","content":"more"},{"id":"3","role":"user","content":"!"}]`, listed(&m))
	turn(t, &m, "r3", `{"messages":[{"id":"1","role":"user","content":"edited"}]}`)
	turn(t, &m, "r4", `{"messages":[{"id":"9","role":"user","content":"only the new one"}]}`)
	require.Equal(t, `[{"id":"1","role":"user","content":"edited"},{"id":"9","role":"user","content":"only the new one"}]`, listed(&m))
}

func TestASnapshotOfMessagesIsMerged(t *testing.T) {
	t.Parallel()
	var m agui.Messages
	turn(t, &m, "r1", `{"text":"one"}`, `{"type":"TEXT_MESSAGE_START","messageId":"a"}`, `{"type":"TEXT_MESSAGE_START","messageId":"b"}`,
		`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"new","role":"user","content":"n"},{"id":"b","role":"assistant","content":"B","toolCalls":[{"id":"c","type":"function","encryptedValue":"e","function":{"name":"f","arguments":"{"}}],"x":1},{"id":"user-r1","role":"user","content":"ONE"},{"id":"th","role":"activity"},7]}`,
		argued("c", "}"), said("b", "!"), `{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"g"}`)
	require.Equal(t, `[{"id":"user-r1","role":"user","content":"ONE"},{"id":"b","role":"assistant","content":"B!","toolCalls":[{"id":"c","type":"function","function":{"name":"g","arguments":"{}"}}],"x":1},{"id":"new","role":"user","content":"n"}]`, listed(&m))
}

func TestInputs(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		`{"text":"a\ud83d\ude00 \ud83d"}`: "a😀 \uFFFD",
		`{"text":1}`:                      "",
		`{"text":"a","messages":[{"role":"assistant","content":"c"}]}`:                                                  "",
		`{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"},{"role":"assistant","content":"c"}]}`: "b",
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image"},{"text":"b"}]}]}`:           "ab",
		`{"messages":{}}`: "",
		`[]`:              "", `{`: "", ``: "", `{"text":"a"}x`: "",
	} {
		require.Equal(t, want, agui.UserText(json.RawMessage(input)), input)
	}
	thread, run := agui.InputIDs(json.RawMessage(`{"threadId":"t","runId":"\u0072"}`))
	require.Equal(t, "t r", thread+" "+run)
	require.True(t, agui.IsRunInput(json.RawMessage(`{"messages":null}`)))
	require.False(t, agui.IsRunInput(json.RawMessage(`{"messages":[]`)))
}

// A tool call that a stopped turn left without a result does not spoil the chat.
func TestCallsWithoutResultAreSettled(t *testing.T) {
	t.Parallel()
	earlier := []json.RawMessage{
		json.RawMessage(`{"id":"1","role":"assistant","toolCalls":[{"id":"a"},{"id":"b"},{"id":"c"}]}`),
		json.RawMessage(`{"id":"2","role":"tool","toolCallId":"b","content":""}`),
		json.RawMessage(`{"id":"3","role":"assistant","content":"x"}`),
		json.RawMessage(`no message`),
	}
	var got struct {
		Messages []struct{ ID, ToolCallID, Content string }
	}
	require.NoError(t, json.Unmarshal(agui.RunInput("t", "r", json.RawMessage(`{"text":"go on"}`), earlier), &got))
	ids := ""
	for _, m := range got.Messages {
		ids += m.ID + ":" + m.ToolCallID + " "
	}
	require.Equal(t, "1: 2:b no-result-a:a no-result-c:c 3: user-r: ", ids)
	require.Contains(t, got.Messages[2].Content, "no result")
	// What a run waits for is answered by the next one.
	require.NotContains(t, string(agui.RunInput("t", "r", json.RawMessage(`{"resume":[]}`), earlier)), "no-result")
}

// FuzzMessages: whatever came, the messages are JSON, and the same for folded events.
func FuzzMessages(f *testing.F) {
	f.Add([]byte(`{"text":"a"}`), []byte(strings.Join(seeds, "\n")))
	f.Add([]byte(`{"messages":[{"id":"m","role":"user","content":[1]}]}`), []byte(said("m", `\ud83d`)+"\n"+said("m", `\ude00`)+"\n"+`{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"user"},{"id":"m","role":"assistant","toolCalls":[{"id":"t"}, 1]}]}`+"\n"+argued("t", "x")+"\n"+argued("t", "y")))
	f.Add([]byte(``), []byte(`{"type":"TOOL_CALL_CHUNK","toolCallId":"a","delta":"x"}`+"\n"+`{"type":"TOOL_CALL_CHUNK","delta":"x"}`+"\n"+`{"type":"TOOL_CALL_RESULT","toolCallId":"a","content":[]}`))
	f.Fuzz(func(t *testing.T, input, raw []byte) {
		var good []byte
		var e agui.Event
		for line := range agui.Lines(raw) {
			if agui.Scan(line, &e) == nil {
				good = append(append(good, line...), '\n')
			}
		}
		var m, folded agui.Messages
		require.NoError(t, m.AddTurn("r", input, good))
		var fold agui.Fold
		_, err := fold.AddLines(good)
		require.NoError(t, err)
		require.NoError(t, folded.AddTurn("r", input, fold.AppendTo(nil)))
		require.True(t, json.Valid([]byte(listed(&m))), listed(&m))
		require.Equal(t, listed(&m), listed(&folded))
		require.True(t, json.Valid(agui.RunInput("t", "r", input, m.List())) || !json.Valid(input))
	})
}
