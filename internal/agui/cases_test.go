package agui_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/stretchr/testify/require"
)

// quote is the body of the JSON string for s.
func quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(raw[1 : len(raw)-1])
}

func decodeDelta(t require.TestingT, line string) string {
	var e struct{ Delta string }
	require.NoError(t, json.Unmarshal([]byte(line), &e))
	return e.Delta
}

func text(id, delta string) string {
	return fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"%s","delta":"%s"}`, id, quote(delta))
}

func args(id, delta string) string {
	return fmt.Sprintf(`{"type":"TOOL_CALL_ARGS","toolCallId":"%s","delta":"%s"}`, id, quote(delta))
}

func event(typ, id string) string {
	key := "messageId"
	if strings.HasPrefix(typ, "TOOL_") {
		key = "toolCallId"
	}
	return fmt.Sprintf(`{"type":"%s","%s":"%s"}`, typ, key, id)
}

// same checks, for each of the given cuts, that the fold of what came before,
// and then the rest, reduce to what all events reduce to.
func same(t *testing.T, events []string, cuts ...int) {
	t.Helper()
	want := reduce(events)
	for _, k := range cuts {
		require.Equal(t, want, reduce(slices.Concat(fold(t, events[:k]), events[k:])), "cut at %d", k)
	}
}

func everyCut(events []string) (cuts []int) {
	for k := range len(events) + 1 {
		cuts = append(cuts, k)
	}
	return cuts
}

func TestCMP01_Interleaving(t *testing.T) {
	t.Parallel()
	events := []string{
		event("TEXT_MESSAGE_START", "m1"), text("m1", "a"),
		`{"type":"TOOL_CALL_START","toolCallId":"t1","toolCallName":"f","parentMessageId":"m1"}`, args("t1", "{"),
		text("m1", "b"), text("m1", "b2"),
		event("TEXT_MESSAGE_START", "m2"), text("m2", "x"), args("t1", "}"), text("m1", "c"),
		`{"type":"REASONING_MESSAGE_CONTENT","messageId":"m1","delta":"hm"}`, `{"type":"REASONING_MESSAGE_CONTENT","messageId":"m1","delta":"m"}`,
		event("TOOL_CALL_START", "t2"), event("TOOL_CALL_START", "t3"), args("t2", "["), args("t3", "1"), args("t3", "2"), args("t2", "]"),
		event("TOOL_CALL_END", "t3"), event("TOOL_CALL_END", "t2"), event("TOOL_CALL_END", "t1"),
		`{"type":"TOOL_CALL_RESULT","messageId":"r1","toolCallId":"t1","content":"ok"}`,
		event("TEXT_MESSAGE_END", "m2"), event("TEXT_MESSAGE_END", "m1"),
	}
	same(t, events, everyCut(events)...)
	out := fold(t, events)
	require.Len(t, out, len(events)-3, "only the three adjacent pairs are merged")
	require.Equal(t, []string{
		"TEXT_MESSAGE_CONTENT \"m1\"", "TOOL_CALL_ARGS \"t1\"", "TEXT_MESSAGE_CONTENT \"m2\"", "REASONING_MESSAGE_CONTENT \"m1\"", "TOOL_CALL_ARGS \"t2\"", "TOOL_CALL_ARGS \"t3\"",
	}, reduce(out).Order)

	var many []string
	for i := range 200 {
		many = append(many, event("TEXT_MESSAGE_START", fmt.Sprint(i)))
	}
	for round := range 5 {
		for i := range 200 {
			many = append(many, text(fmt.Sprint(i), fmt.Sprint(round)), text(fmt.Sprint(i), "."))
		}
	}
	same(t, many, 0, 1, 199, 200, 201, 202, 203, 1000, 1001, len(many)-1, len(many))
	require.Len(t, fold(t, many), 200+5*200)
	for _, said := range reduce(fold(t, many)).Text {
		require.Equal(t, units("0.1.2.3.4."), said)
	}
}

func TestCMP02_StateDeltas(t *testing.T) {
	t.Parallel()
	delta := func(ops string) string { return `{"type":"STATE_DELTA","delta":[` + ops + `]}` }
	events := []string{
		delta(`{"op":"add","path":"/early","value":1}`), // before any snapshot: fails
		`{"type":"STATE_SNAPSHOT","snapshot":{"n":0,"a/b":{"c~d":[]},"from the run before":{"kept":true}}}`,
	}
	for i := range 5000 {
		switch i % 5 {
		case 0:
			events = append(events, delta(fmt.Sprintf(`{"op":"replace","path":"/n","value":%d}`, i)))
		case 1:
			events = append(events, delta(fmt.Sprintf(`{"op":"add","path":"/a~1b/c~0d/-","value":%d}`, i)))
		case 2:
			events = append(events, delta(fmt.Sprintf(`{"op":"test","path":"/n","value":%d},{"op":"move","from":"/a~1b/c~0d/0","path":"/moved"}`, i-2)))
		case 3:
			events = append(events, delta(`{"op":"remove","path":"/moved"}`))
		case 4:
			events = append(events, delta(`{"op":"remove","path":"/nowhere"}`), text("m", "x")) // fails, alike live and folded
		}
		if i == 2500 {
			events = append(events, `{"type":"MESSAGES_SNAPSHOT","messages":[]}`)
		}
	}
	same(t, events, 0, 1, 2, 3, 7, 512, 1024, 2500, 3001, len(events))
	require.Equal(t, events, fold(t, events), "nothing here may be merged")
	// Equal neighbours are two patches, not one.
	twice := []string{delta(`{"op":"add","path":"/l/-","value":1}`), delta(`{"op":"add","path":"/l/-","value":1}`)}
	require.Equal(t, twice, fold(t, twice))

	end := reduce(events)
	require.Equal(t, map[string]any{
		"n": json.Number("4995"), "a/b": map[string]any{"c~d": []any{}}, "from the run before": map[string]any{"kept": true},
	}, end.State, "the test's own reducer applies patches")
}

func TestCMP03_ToolArgsStayText(t *testing.T) {
	t.Parallel()
	for _, whole := range []string{
		`{"z":9007199254740993,"a":1e400,"a":"\u00e9\ud83d\ude00","s":"x"}   `,
		"{ \"é\" : \"中😀\",\n\t\"b\" : [1, 2.50, -0] }\r\n",
		`{"unfinished": "yes, and no quote`,
		`not JSON at all }}}`,
		``,
	} {
		var events []string
		for rest := whole; ; {
			_, n := utf8.DecodeRuneInString(rest)
			events = append(events, args("t", rest[:n]))
			if rest = rest[n:]; rest == "" {
				break
			}
		}
		for k := range len(events) {
			out := fold(t, events[:k+1])
			require.Len(t, out, 1)
			var sofar strings.Builder
			for _, e := range events[:k+1] {
				sofar.WriteString(decodeDelta(t, e))
			}
			require.Equal(t, sofar.String(), decodeDelta(t, out[0]))
		}
		require.Equal(t, args("t", whole), fold(t, events)[0])
		same(t, events, everyCut(events)...)
	}

	// Cut at every byte of the JSON as written that leaves two strings: joined, it is what it was.
	body := `{\"k\":\"\\u00e9\ud83d\ude00中\/\"}`
	raw := func(s string) string { return `{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":"` + s + `"}` }
	tried := 0
	for i := range len(body) + 1 {
		a, b := raw(body[:i]), raw(body[i:])
		var e agui.Event
		if agui.Scan([]byte(a), &e) != nil || agui.Scan([]byte(b), &e) != nil {
			continue // within an escape or a character: no producer can send that
		}
		tried++
		require.Equal(t, []string{raw(body)}, fold(t, []string{a, b}))
	}
	require.Greater(t, tried, 10)

	// 2 MiB of args, the call unfinished: byte for byte there, and no end invented.
	const piece = 4096
	events := []string{event("TOOL_CALL_START", "t")}
	var want strings.Builder
	for i := range (2 << 20) / piece {
		p := fmt.Sprintf("%08d\"\\é", i)
		p += strings.Repeat("x", piece-len(p))
		want.WriteString(p)
		events = append(events, args("t", p))
	}
	out := fold(t, events)
	require.Less(t, len(out), 5)
	var got strings.Builder
	for _, line := range out[1:] {
		require.Contains(t, line, "TOOL_CALL_ARGS")
		got.WriteString(decodeDelta(t, line))
	}
	require.Equal(t, want.String(), got.String())
}

func TestCMP04_UnknownTypesAndFields(t *testing.T) {
	t.Parallel()
	var events []string
	for i := range 100 {
		for _, odd := range []string{
			fmt.Sprintf(`{"type":"CUSTOM","name":"n","value":%d}`, i),
			fmt.Sprintf(`{"type":"RAW","event":{"i":%d},"source":"s"}`, i),
			fmt.Sprintf(`{"type":"INVENTED_KIND","delta":"%d","messageId":"m"}`, i),
			fmt.Sprintf(`{"type":"STEP_STARTED","stepName":"s","extra":%d}`, i),
			fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x","metadata":{"i":%d}}`, i),
			fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x","extra":%d}`, i),
		} {
			events = append(events, text("m", "a"), text("m", "b"), odd)
		}
	}
	same(t, events, 0, 1, 2, 3, 4, 5, 900, 901, 902, len(events)-1, len(events))
	out := fold(t, events)
	require.Len(t, out, 1200)
	for i := range 600 {
		require.Equal(t, text("m", "ab"), out[2*i])
		require.Equal(t, events[3*i+2], out[2*i+1], "unchanged and in its place")
	}
}
