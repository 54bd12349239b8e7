package main

import (
	"bufio"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
)

func shownAs(events ...string) string {
	var b strings.Builder
	p := &textPrinter{w: bufio.NewWriter(&b), run: "r"}
	for i, e := range events {
		_ = p.frame(consumer.Frame{Type: consumer.Event, RunID: "r", Seq: uint64(i + 1), Event: []byte(e)})
	}
	_ = p.close()
	return b.String()
}

func TestEventsAreShownAsText(t *testing.T) {
	t.Parallel()
	require.Equal(t, `· RUN_STARTED
(thinks) hm, hm
· calls look
(arguments) {"a":1}
· result: "42"
Hello, world
· CUSTOM weather {"type":"CUSTOM","name":"weather","value":1}
· NEW_THING {"type":"NEW_THING","x":2}
· RUN_ERROR it broke
`, shownAs(
		`{"type":"RUN_STARTED","threadId":"c","runId":"x"}`,
		`{"type":"REASONING_MESSAGE_CONTENT","messageId":"t","delta":"hm, "}`,
		`{"type":"REASONING_MESSAGE_CONTENT","messageId":"t","delta":"hm"}`,
		`{"type":"TOOL_CALL_START","toolCallId":"k","toolCallName":"look"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"k","delta":"{\"a\""}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"k","delta":":1}"}`,
		`{"type":"TOOL_CALL_END","toolCallId":"k"}`,
		`{"type":"TOOL_CALL_RESULT","messageId":"r","toolCallId":"k","content":"\"42\""}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Hello,"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":""}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":" world"}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"m"}`,
		`{"type":"CUSTOM","name":"weather","value":1}`,
		`{"type":"NEW_THING","x":2}`,
		`{"type":"RUN_ERROR","message":"it broke"}`,
	))
}

// Blocks of two messages that interleave stay apart.
func TestABlockBeginsOnALineOfItsOwn(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a\nb\na2\n\nc\n", shownAs(
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"1","delta":"a"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"2","delta":"b"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"1","delta":"a2\n\n"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"1","delta":"c"}`,
	))
}

// Fields of unusual types are shown and do not stop it.
func TestUnusualFieldsAreShown(t *testing.T) {
	t.Parallel()
	got := shownAs(
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":7,"delta":"x"}`,
		`{"type":"TOOL_CALL_RESULT","toolCallId":"k","content":{"a":1}}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":[1]}`,
	)
	require.Contains(t, got, `"messageId":7`)
	require.Contains(t, got, `result: {"a":1}`)
	require.Contains(t, got, `[1]`)
}

// Nothing of an event acts on a terminal, wherever in it it stands.
func TestEventsCannotActOnATerminal(t *testing.T) {
	t.Parallel()
	const evil = `\u001b[2J\u009b31m\u0007\r\u202eevil` + "\u009b1m\u2066"
	for _, e := range []string{
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"` + evil + `"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"` + evil + `","delta":"x` + evil + `"}`,
		`{"type":"REASONING_MESSAGE_CONTENT","delta":"` + evil + `"}`,
		`{"type":"TOOL_CALL_START","toolCallName":"` + evil + `"}`,
		`{"type":"TOOL_CALL_RESULT","content":"` + evil + `"}`,
		`{"type":"STEP_STARTED","stepName":"` + evil + `"}`,
		`{"type":"RUN_ERROR","message":"` + evil + `"}`,
		`{"type":"CUSTOM","name":"` + evil + `","value":"` + evil + `"}`,
		`{"type":"` + evil + `"}`,
	} {
		got := shownAs(e)
		require.Contains(t, got, "evil")
		for _, r := range got {
			require.False(t, hostile(r) && r != '\n', "%U in %q", r, got)
		}
	}
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	require.Equal(t, "é 👩‍👩‍👧 ümlaut �", printable("é 👩‍👩‍👧 ümlaut �"), "what is only unusual stays")
	require.Equal(t, `a\x1b[1mb`, printable("a\x1b[1mb"))
	require.Equal(t, `a\nb\tc`, printable("a\nb\tc"))
	require.Equal(t, "a\nb\tc\\r", printableText("a\nb\tc\r"))
	require.Equal(t, `\xff\x80`, printable("\xff\x80"))
	require.Equal(t, `\u009b\u202e`, printable("\u009b\u202e"))
	require.Equal(t, "abc…", shorten("abcdef", 3))
	require.Equal(t, "äöü", shorten("äöü", 3))
}

// JSON on a terminal is harmless and still the same JSON.
func TestJSONForATerminal(t *testing.T) {
	t.Parallel()
	in := "{\t\"a\":\"\u009b1m \u202e é\x7f\"}\n"
	got := string(jsonForTerminal([]byte(in)))
	require.JSONEq(t, in, got)
	require.Equal(t, "{\t\"a\":\"\\u009b1m \\u202e é\\u007f\"}\n", got)
	same := []byte(`{"a":"plain é"}`)
	require.Equal(t, same, jsonForTerminal(same))
}

func TestASnapshotReplacesWhatWasShown(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	p := &textPrinter{w: bufio.NewWriter(&b)}
	_ = p.frame(consumer.Frame{Type: consumer.Snapshot, RunID: "r", Seq: 1, Events: []byte(delta(1))})
	_ = p.frame(consumer.Frame{Type: consumer.Snapshot, RunID: "r", Seq: 9, Events: []byte(delta(9))})
	_ = p.close()
	require.Equal(t, "── run r, snapshot at seq 1\n1 \n── run r, snapshot at seq 9; what follows replaces what is above\n9 \n", b.String())
}
