package translate_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTextIsOneMessageUntilSomethingElseComes(t *testing.T) {
	t.Parallel()
	tr := begin(t).updates(say("a"), say("b"))
	tr.gave(
		`{"type":"TEXT_MESSAGE_START","messageId":"text-r-1","role":"assistant"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"text-r-1","delta":"a"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"text-r-1","delta":"b"}`,
	)
	tr.updates(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}`, say("c"))
	tr.gave(
		`{"type":"TEXT_MESSAGE_END","messageId":"text-r-1"}`,
		`{"type":"REASONING_START","messageId":"thought-r-2"}`,
		`{"type":"REASONING_MESSAGE_START","messageId":"thought-r-2","role":"reasoning"}`,
		`{"type":"REASONING_MESSAGE_CONTENT","messageId":"thought-r-2","delta":"hm"}`,
		`{"type":"REASONING_MESSAGE_END","messageId":"thought-r-2"}`,
		`{"type":"REASONING_END","messageId":"thought-r-2"}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"text-r-3","role":"assistant"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"text-r-3","delta":"c"}`,
	)
}

func TestMessageIDsSeparateMessages(t *testing.T) {
	t.Parallel()
	chunk := func(id, text string) string {
		return `{"sessionUpdate":"agent_message_chunk","messageId":` + id + `,"content":{"type":"text","text":"` + text + `"}}`
	}
	tr := begin(t).updates(chunk(`"a"`, "1"), chunk(`"a"`, "2"), chunk(`null`, "3"), chunk(`"b"`, "4"))
	tr.gave(
		`{"type":"TEXT_MESSAGE_START","messageId":"text-r-1","role":"assistant"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"text-r-1","delta":"1"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"text-r-1","delta":"2"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"text-r-1","delta":"3"}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"text-r-1"}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"text-r-2","role":"assistant"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"text-r-2","delta":"4"}`,
	)
}

// Old clients take an empty delta for a fault, and halves of a surrogate pair only come
// together in a browser if nobody decodes them before.
func TestTextIsPassedOnAsItIsWritten(t *testing.T) {
	t.Parallel()
	tr := begin(t).updates(say(``), say(`\ud83d`), say(`\ude00<\u003c\/`))
	tr.gave(
		`{"type":"TEXT_MESSAGE_START","messageId":"text-r-1","role":"assistant"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"text-r-1","delta":"\ud83d"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"text-r-1","delta":"\ude00<\u003c\/"}`,
	)
}

func TestWhatElseAChunkSaysIsItsMetadata(t *testing.T) {
	t.Parallel()
	tr := begin(t).updates(`{"sessionUpdate":"agent_message_chunk","_meta":{"parent":"call_1"},"content":{"type":"text","text":"a","annotations":{"priority":1.0},"_meta":null}}`)
	require.Equal(t,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"text-r-1","delta":"a","metadata":{"acp":{"_meta":{"parent":"call_1"},"content":{"annotations":{"priority":1.0}}}}}`,
		tr.events[1])
}

func TestOtherContentIsCustomAndStandsBetweenMessages(t *testing.T) {
	t.Parallel()
	image := `{"sessionUpdate":"agent_message_chunk","content":{"type":"image","mimeType":"image/png","data":"AA=="}}`
	tr := begin(t).updates(say("a"), image, say("b"))
	tr.gave(
		`{"type":"TEXT_MESSAGE_START","messageId":"text-r-1","role":"assistant"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"text-r-1","delta":"a"}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"text-r-1"}`,
		`{"type":"CUSTOM","name":"acp.content","value":`+image+`}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"text-r-2","role":"assistant"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"text-r-2","delta":"b"}`,
	)
}

// A line of an agent may be larger than an event. No character is cut.
func TestLargeTextComesInDeltas(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"a", "é", "😀", `\ud83d\ude00`, `\n`, `\u00e9`, `\\`} {
		text := strings.Repeat("x", 1<<20-3) + strings.Repeat(unit, 1<<19)
		tr := begin(t).updates(say(text))
		whole := ""
		for _, e := range tr.events[1:] {
			require.LessOrEqual(t, len(e), 1<<20+200)
			var f struct{ Delta json.RawMessage }
			require.NoError(t, json.Unmarshal([]byte(e), &f))
			var s string
			require.NoError(t, json.Unmarshal(f.Delta, &s))
			require.NotContains(t, s, "\ufffd")
			whole += string(f.Delta[1 : len(f.Delta)-1])
		}
		require.Equal(t, len(text), len(whole))
		require.True(t, text == whole)
	}
}
