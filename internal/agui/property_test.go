package agui_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// genContent draws the events a fold is tempted to merge: few ids, so that
// neighbours often match, and every reason not to.
func genContent(t *rapid.T) string {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	typ := pick("type", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT", "TOOL_CALL_ARGS", "REASONING_MESSAGE_CONTENT", "THINKING_TEXT_MESSAGE_CONTENT")
	id := `"messageId":"` + pick("id", "m", "m", "m", "n") + `"`
	if typ == "TOOL_CALL_ARGS" {
		id = `"toolCallId":"` + pick("id", "t", "t", "u") + `"`
	}
	body := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
		"a", "é", "中", "😀", `\ud83d`, `\ude00`, `\uD83D\uDE00`, `\n`, `\"`, `\\`, `\/`, "{", "}", `\u0000`, " ", "\u2028", "0",
	}), 0, 4).Draw(t, "delta"), "")
	fields := []string{`"type":"` + typ + `"`, id, `"delta":"` + body + `"`}
	if stamp := pick("timestamp", "", "", "1", "2"); stamp != "" {
		fields = append(fields, `"timestamp":`+stamp)
	}
	if odd := pick("oddity", "", "", "", "", "", `"metadata":{"a":1}`, `"metadata":{"a":2}`, `"metadata":{"a": 1}`, `"new":[null,"\u00e9"]`,
		`"delta":"twice"`, `"\u0064elta":"x"`, `"new":1,"new":1`, `"\u006eew":1`); odd != "" {
		fields = append(fields, odd)
	}
	switch rapid.IntRange(0, 9).Draw(t, "form") {
	case 0:
		fields = rapid.Permutation(fields).Draw(t, "order")
	case 1:
		fields[2] = `"delta":` + pick("no string", "1", "null", `["a"]`, `{"delta":"a"}`)
	case 2:
		return "{ " + strings.Join(fields, " ,\t") + " } "
	}
	return "{" + strings.Join(fields, ",") + "}"
}

// genOther draws the events that must stay in their place.
func genOther(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		`{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"m"}`,
		`{"type":"TOOL_CALL_START","toolCallId":"t","toolCallName":"f","parentMessageId":"m"}`,
		`{"type":"TOOL_CALL_END","toolCallId":"t"}`,
		`{"type":"TOOL_CALL_RESULT","messageId":"r","toolCallId":"t","content":"ok"}`,
		`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"chunk"}`,
		`{"type":"TEXT_MESSAGE_CHUNK","delta":"chunk"}`,
		`{"type":"TOOL_CALL_CHUNK","toolCallId":"t","delta":"{"}`,
		`{"type":"STATE_SNAPSHOT","snapshot":{"n":0,"a~/b":[1,2]}}`,
		`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a~0~1b/-","value":3}]}`,
		`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/n","value":1}]}`,
		`{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/n"}]}`,
		`{"type":"STATE_DELTA","delta":[{"op":"move","from":"/a~0~1b/0","path":"/n"}]}`,
		`{"type":"MESSAGES_SNAPSHOT","messages":[]}`,
		`{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"plan","content":{}}`,
		`{"type":"CUSTOM","name":"n","value":{"delta":"d"}}`,
		`{"type":"RAW","event":{"type":"TEXT_MESSAGE_CONTENT","delta":"d"}}`,
		`{"type":"NOT_INVENTED_YET","messageId":"m","delta":"d"}`,
		`{"type":"RUN_ERROR","message":"x"}`,
	}).Draw(t, "other")
}

func genEvents(t *rapid.T) []string {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
			return genOther(t)
		}
		return genContent(t)
	}), 0, 40).Draw(t, "events")
}

// A reader that takes the fold of the first k events and then the others ends
// up where a reader of all of them does, whatever k.
func TestFoldReducesToTheSameAtEveryCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events := genEvents(t)
		want := reduce(events)
		for k := range len(events) + 1 {
			got := reduce(slices.Concat(fold(t, events[:k]), events[k:]))
			require.Equal(t, want, got, "cut at %d", k)
		}
	})
}

// All that may be merged is, and nothing else.
func TestFoldDoesWhatTheRuleSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events := genEvents(t)
		require.Equal(t, mergeAll(events), fold(t, events))
	})
}

// Segments, cut anywhere and read at any moment, one after the other reduce to
// the same; each is the fold of its own events; and folding a fold changes nothing.
func TestFoldOfSegments(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events := genEvents(t)
		var f agui.Fold
		var all, want []string
		from := 0
		for i, line := range events {
			add(t, &f, line)
			switch rapid.IntRange(0, 5).Draw(t, "then") {
			case 0:
				for line := range agui.Lines(f.Cut()) {
					all = append(all, string(line))
				}
				want = append(want, mergeAll(events[from:i+1])...)
				from = i + 1
			case 1:
				require.Equal(t, mergeAll(events[from:i+1]), read(t, &f))
			}
		}
		all = append(all, read(t, &f)...)
		require.Equal(t, append(want, mergeAll(events[from:])...), all)
		require.Equal(t, reduce(events), reduce(all))

		once := fold(t, events)
		require.Equal(t, once, fold(t, once))
	})
}

// Text comes out as it went in wherever its JSON was cut, also between the
// halves of a surrogate pair.
func TestFoldJoinsTextCutAnywhere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		want := units(quote(text))
		var events []string
		for _, u := range want {
			events = append(events, fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\u%04x"}`, u))
		}
		out := fold(t, events)
		require.LessOrEqual(t, len(out), 1)
		for _, line := range out {
			require.Equal(t, text, decodeDelta(t, line))
		}
	})
}

// Events with a few bytes changed are nearly right, where a scanner errs.
func TestScanAgreesWithTheStandardLibrary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := []byte(rapid.OneOf(rapid.Custom(genContent), rapid.Custom(genOther), rapid.SampledFrom(seeds)).Draw(t, "event"))
		alphabet := rapid.SampledFrom([]string{"{", "}", "[", "]", `"`, `\`, ":", ",", "u", "0", "1", "-", "+", ".", "e", "E", "t", "true", "null", " ", "\n", "\t", "\x00", "\xff", "\xed\xa0\x80", "é", `\u00e9`, `"type":"X",`})
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			from := rapid.IntRange(0, len(line)).Draw(t, "from")
			to := min(len(line), from+rapid.IntRange(0, 2).Draw(t, "cut"))
			line = slices.Concat(line[:from], []byte(alphabet.Draw(t, "in")), line[to:])
		}
		agrees(t, line)
	})
}

// Every short sequence of what JSON is made of, in place of a value and of a
// whole event's rest.
func TestScanAgreesOnEveryShortValue(t *testing.T) {
	t.Parallel()
	const alphabet = `{}[]":,\u0e.-n` + " "
	var at [4]int
	var e agui.Event
	for {
		value := make([]byte, len(at))
		for i, c := range at {
			value[i] = alphabet[c]
		}
		for _, raw := range []string{`{"type":"X","v":` + string(value) + `}`, `{"type":"X"` + string(value), `{"type":"X","v":"` + string(value) + `"}`} {
			if _, kind := oracle([]byte(raw)); (kind == nil) != (agui.Scan([]byte(raw), &e) == nil) {
				t.Fatalf("%s: %v", raw, kind)
			}
		}
		i := 0
		for ; i < len(at); i++ {
			if at[i]++; at[i] < len(alphabet) {
				break
			}
			at[i] = 0
		}
		if i == len(at) {
			return
		}
	}
}
