package agui_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/stretchr/testify/require"
)

// nest is an event nested to the given depth, its own object included.
func nest(depth int, open, end string) string {
	n := depth - 1
	return `{"type":"X","v":` + strings.Repeat(open, n) + "1" + strings.Repeat(end, n) + `}`
}

func TestScanAccepts(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"plain":                  `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`,
		"unknown type":           `{"type":"NOT_INVENTED_YET"}`,
		"type last":              `{"a":[1,{"type":7}],"type":"CUSTOM"}`,
		"white space around":     " \t{ \"type\" : \"RAW\" } \t",
		"every value":            `{"type":"X","a":true,"b":false,"c":null,"d":"","e":{},"f":[],"g":[[],{}]}`,
		"numbers":                `{"type":"X","n":[0,-0,1,10,-1.5,0.1,1e5,1E+5,1e-5,12.25e400,9007199254740993]}`,
		"escapes":                `{"type":"X","s":"\"\\\/\b\f\n\r\t\u0000\u00e9\uD83D\uDE00"}`,
		"half a surrogate pair":  `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\ud800"}`,
		"the other half":         `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\udc00"}`,
		"all UTF-8 lengths":      "{\"type\":\"X\",\"s\":\"a\u00e9\u4e2d\U0001F600\uffff\U0010ffff\u2028\u0085\x7f\"}",
		"other keys twice":       `{"type":"X","a":1,"a":2}`,
		"nested types":           `{"type":"X","a":{"type":1,"type":2}}`,
		"levels used again":      `{"type":"X","v":[{"a":1},[[1],2],{"b":{"c":[]},"d":[3]},[[4],5]]}`,
		"an empty key":           `{"":1,"type":"X"}`,
		"replacement characters": "{\"type\":\"X\",\"s\":\"\ufffd\ufffd\"}",
		"deepest objects":        nest(agui.MaxDepth, `{"a":`, "}"),
		"deepest arrays":         nest(agui.MaxDepth, "[", "]"),
	} {
		var e agui.Event
		require.NoError(t, agui.Scan([]byte(raw), &e), name)
		require.Equal(t, raw, string(e.Raw), name)
	}
}

func TestScanRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		raw    string
		kind   error
		offset int
		says   string
	}{
		{``, agui.ErrNotObject, 0, "found the end"},
		{"  ", agui.ErrNotObject, 2, "found the end"},
		{`[]`, agui.ErrNotObject, 0, "found '['"},
		{`"type"`, agui.ErrNotObject, 0, "one JSON object"},
		{`null`, agui.ErrNotObject, 0, "found 'n'"},
		{"\xef\xbb\xbf{}", agui.ErrNotObject, 0, "byte 0xEF"},

		{`{}`, agui.ErrNoType, 0, "non-empty string"},
		{`{"a":1}`, agui.ErrNoType, 0, "non-empty string"},
		{`{"Type":"X"}`, agui.ErrNoType, 0, "non-empty string"},
		{`{"a":{"type":"X"}}`, agui.ErrNoType, 0, "top-level"},
		{`{"\u0174ype":"X"}`, agui.ErrNoType, 0, "top-level"},
		{`{"type":""}`, agui.ErrNoType, 8, "non-empty string"},
		{`{"type":1}`, agui.ErrNoType, 8, "non-empty string"},
		{`{"type":null}`, agui.ErrNoType, 8, "non-empty string"},
		{`{"type":["X"]}`, agui.ErrNoType, 8, "non-empty string"},
		{`{"type":"X","type":"X"}`, agui.ErrDuplicateType, 12, "second"},
		{`{"type":"X","\u0074ype":"Y"}`, agui.ErrDuplicateType, 12, "second"},
		{`{"t\u0079pe":"X","typ\u0065":"Y"}`, agui.ErrDuplicateType, 17, "second"},

		{`{"type":"X"}{}`, agui.ErrTrailing, 12, "stands '{'"},
		{"{\"type\":\"X\"}\x00", agui.ErrTrailing, 12, "byte 0x00"},

		{`{`, agui.ErrSyntax, 1, "a key or '}', found the end"},
		{`{"`, agui.ErrSyntax, 2, "closing quote"},
		{`{"k"`, agui.ErrSyntax, 4, "a colon"},
		{`{"k":`, agui.ErrSyntax, 5, "a value"},
		{`{"k":,`, agui.ErrSyntax, 5, "a value"},
		{`{"k":1`, agui.ErrSyntax, 6, "',' or '}'"},
		{`{"k":1,}`, agui.ErrSyntax, 7, "a key"},
		{`{,}`, agui.ErrSyntax, 1, "a key or '}'"},
		{`{k:1}`, agui.ErrSyntax, 1, "a key or '}'"},
		{`{'k':1}`, agui.ErrSyntax, 1, `a key or '}', found '\''`},
		{`{"k":[1,]}`, agui.ErrSyntax, 8, "a value"},
		{`{"k":[1 2]}`, agui.ErrSyntax, 8, "',' or ']'"},
		{`{"k":[1}`, agui.ErrSyntax, 7, "',' or ']'"},
		{`{"k":[`, agui.ErrSyntax, 6, "found the end"},
		{`{"k":[{`, agui.ErrSyntax, 7, "found the end"},
		{`{"k":{"a":1]}`, agui.ErrSyntax, 11, "',' or '}'"},
		{`{"k":{"a" 1}}`, agui.ErrSyntax, 10, "a colon"},
		{`{"k":{"a":1,}}`, agui.ErrSyntax, 12, "a key"},
		{`{"k":{1:1}}`, agui.ErrSyntax, 6, "a key or '}'"},
		{`{"k":[[]`, agui.ErrSyntax, 8, "',' or ']'"},

		{`{"k":tru}`, agui.ErrSyntax, 5, "true, false and null"},
		{`{"k":True}`, agui.ErrSyntax, 5, "a value"},
		{`{"k":nul`, agui.ErrSyntax, 5, "true, false and null"},
		{`{"k":NaN}`, agui.ErrSyntax, 5, "a value"},
		{`{"k":nullx}`, agui.ErrSyntax, 9, "',' or '}'"},

		{`{"k":01}`, agui.ErrSyntax, 5, "needless 0"},
		{`{"k":-}`, agui.ErrSyntax, 6, "a digit"},
		{`{"k":-a}`, agui.ErrSyntax, 6, "a digit"},
		{`{"k":+1}`, agui.ErrSyntax, 5, "a value"},
		{`{"k":.5}`, agui.ErrSyntax, 5, "a value"},
		{`{"k":1.}`, agui.ErrSyntax, 7, "after the point"},
		{`{"k":1e}`, agui.ErrSyntax, 7, "exponent"},
		{`{"k":1e+}`, agui.ErrSyntax, 8, "exponent"},
		{`{"k":1`, agui.ErrSyntax, 6, "found the end"},
		{`{"k":0x1}`, agui.ErrSyntax, 6, "',' or '}'"},

		{"{\"k\":\"a\nb\"}", agui.ErrSyntax, 7, "byte 0x0A"},
		{"{\"k\":\"a\x00b\"}", agui.ErrSyntax, 7, "byte 0x00"},
		{"{\"k\":\"\x1f\"}", agui.ErrSyntax, 6, "control character"},
		{"{\"k\":\v1}", agui.ErrSyntax, 5, "byte 0x0B"},
		{"{\"k\":\u00a01}", agui.ErrSyntax, 5, "byte 0xC2"},
		{`{"k":"\x41"}`, agui.ErrSyntax, 7, `after a backslash, found 'x'`},
		{`{"k":"\`, agui.ErrSyntax, 7, "found the end"},
		{`{"k":"\u12g4"}`, agui.ErrSyntax, 10, "four hexadecimal digits"},
		{`{"k":"\u12`, agui.ErrSyntax, 10, "four hexadecimal digits"},
		{`{"k":"\U0041"}`, agui.ErrSyntax, 7, "found 'U'"},

		{nest(agui.MaxDepth+1, "[", "]"), agui.ErrDepth, 16 + 511, "512"},
		{nest(agui.MaxDepth+1, `{"a":`, "}"), agui.ErrDepth, 16 + 511*5, "512"},
		{strings.Repeat(`{"a":`, 1_000_000), agui.ErrDepth, 512 * 5, "512"},
		{`{"a":` + strings.Repeat("[", 1_000_000), agui.ErrDepth, 5 + 511, "512"},
	} {
		name := c.raw[:min(len(c.raw), 40)]
		var e agui.Event
		err := agui.Scan([]byte(c.raw), &e)
		require.ErrorIs(t, err, c.kind, name)
		require.ErrorIs(t, err, agui.ErrInvalid, name)
		require.ErrorContains(t, err, c.says, name)
		var syntax *agui.SyntaxError
		require.ErrorAs(t, err, &syntax, name)
		require.Equal(t, c.offset, syntax.Offset, name)
		require.Nil(t, e.Raw, name)
		require.False(t, e.Mergeable(), name)
	}
}

// An event's bytes may end in the middle of anything.
func TestScanRefusesEveryPrefix(t *testing.T) {
	t.Parallel()
	raw := []byte(`{"type":"X","a":[1,-2.5e+7,{"b":"\u00e9\n","c":[]}],"d":{"e":null,"f":true},"g":"` + "é中😀" + `"}`)
	var e agui.Event
	require.NoError(t, agui.Scan(raw, &e))
	for n := range raw {
		require.Error(t, agui.Scan(raw[:n:n], &e), "%q", raw[:n])
	}
}

// Every byte value, at every distance from the end of an eight-byte word.
func TestScanSeesEveryByteAtEveryPlace(t *testing.T) {
	t.Parallel()
	for c := range 256 {
		for pad := range 20 {
			body := strings.Repeat("x", pad) + string([]byte{byte(c)})
			var e agui.Event
			err := agui.Scan([]byte(`{"type":"X","v":"`+body+strings.Repeat("y", 20-pad)+`"}`), &e)
			switch {
			case c >= 0x80:
				require.ErrorIs(t, err, agui.ErrUTF8, "byte %#x at %d", c, pad)
			case c < 0x20 || c == '"' || c == '\\':
				require.ErrorIs(t, err, agui.ErrSyntax, "byte %#x at %d", c, pad)
			default:
				require.NoError(t, err, "byte %#x at %d", c, pad)
			}
		}
	}
}

func TestScanTellsTypes(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]struct {
		typ  agui.Type
		name string
	}{
		`{"type":"RUN_FINISHED"}`:                         {agui.RunFinished, `RUN_FINISHED`},
		`{"type":"NEW_KIND"}`:                             {"", `NEW_KIND`},
		`{"type":"run_finished"}`:                         {"", `run_finished`},
		`{"type":"RUN\u005fERROR"}`:                       {agui.RunError, `RUN\u005fERROR`},
		`{"\u0074ype":"RUN_ERROR"}`:                       {agui.RunError, `RUN_ERROR`},
		`{"type":"RUN\u015fERROR"}`:                       {"", `RUN\u015fERROR`},
		`{"type":"RUN_ERROR\u0100"}`:                      {"", `RUN_ERROR\u0100`},
		`{"type":"RUN_ERROR\n\t\r\b\f\/\\\""}`:            {"", `RUN_ERROR\n\t\r\b\f\/\\\"`},
		`{"type":"` + strings.Repeat(`\u0041`, 99) + `"}`: {"", strings.Repeat(`\u0041`, 99)},
	} {
		var e agui.Event
		require.NoError(t, agui.Scan([]byte(raw), &e), raw)
		require.Equal(t, want.typ, e.Type, raw)
		require.Equal(t, want.name, string(e.TypeName()), raw)
	}
	require.True(t, agui.IsTerminal(agui.RunFinished))
	require.True(t, agui.IsTerminal(agui.RunError))
	require.False(t, agui.IsTerminal(agui.RunStarted))
	require.False(t, agui.IsTerminal(""))
}

func TestScanPutsEventsOnOneLine(t *testing.T) {
	t.Parallel()
	in := []byte("\r\n{\r\n  \"type\": \"TEXT_MESSAGE_CONTENT\",\n\t\"messageId\":\"m\",\n  \"delta\": \"a\\nb\" }\n")
	before := string(in)
	var e agui.Event
	require.NoError(t, agui.Scan(in, &e))
	require.Equal(t, `{  "type": "TEXT_MESSAGE_CONTENT",`+"\t"+`"messageId":"m",  "delta": "a\nb" }`, string(e.Raw))
	require.Equal(t, `a\nb`, string(e.Delta()))
	require.Equal(t, before, string(in), "the caller's bytes stay")

	// A break within a token is no white space, and must not become legal by being removed.
	for _, bad := range []string{"{\"type\":\"X\",\"n\":1\n2}", "{\"type\":\"X\",\"n\":tr\nue}", "{\"type\":\"X\",\"n\":\"a\nb\"}"} {
		require.ErrorIs(t, agui.Scan([]byte(bad), &e), agui.ErrSyntax, "%q", bad)
	}
}

func TestScanTellsWhatIsMergeable(t *testing.T) {
	t.Parallel()
	many := func(n int) string {
		var b strings.Builder
		b.WriteString(`{"type":"TOOL_CALL_ARGS","delta":"d"`)
		for i := range n - 2 {
			b.WriteString(`,"k` + string(rune('0'+i)) + `":1`)
		}
		return b.String() + "}"
	}
	for raw, want := range map[string]bool{
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"d"}`:        true,
		`{"type":"REASONING_MESSAGE_CONTENT","messageId":"m","delta":"d"}`:   true,
		`{"type":"THINKING_TEXT_MESSAGE_CONTENT","delta":"d"}`:               true,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":"d"}`:             true,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":"d","x":{"a":1}}`: true,
		`{"type":"TOOL_CALL_ARGS","delta":"d","x":{"a":1,"a":1,"\u0061":1}}`: true,
		many(32): true,

		many(33): false,
		`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"d"}`:          false,
		`{"type":"STATE_DELTA","delta":[]}`:                                  false,
		`{"type":"STATE_DELTA","delta":"d"}`:                                 false,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"t"}`:                         false,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":1}`:               false,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":null}`:            false,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":"d","x":1,"x":1}`: false,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":"d","delta":"d"}`: false,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"t","\u0064elta":"d"}`:        false,
		`{"type":"TOOL_CALL_ARGS","tool\u0043allId":"t","delta":"d"}`:        false,
		`{"\u0074ype":"TOOL_CALL_ARGS","toolCallId":"t","delta":"d"}`:        false,
	} {
		var e agui.Event
		require.NoError(t, agui.Scan([]byte(raw), &e), raw)
		require.Equal(t, want, e.Mergeable(), raw)
		if want {
			require.Equal(t, "d", string(e.Delta()), raw)
		} else {
			require.Nil(t, e.Delta(), raw)
		}
	}
}

func TestScanAllocatesNothing(t *testing.T) {
	raw := []byte(`{"type":"CUSTOM","name":"x","value":{"a":[1,2,{"b":"\u00e9é"}]}}`)
	delta := []byte(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"some text"}`)
	escaped := []byte(`{"type":"` + strings.Repeat(`\u0041`, 1000) + `","\u0074ypeset":1}`)
	var e agui.Event
	n := testing.AllocsPerRun(100, func() {
		if agui.Scan(raw, &e) != nil || agui.Scan(escaped, &e) != nil || agui.Scan(delta, &e) != nil || len(e.Delta()) == 0 {
			t.Error("refused")
		}
	})
	require.Zero(t, n)
}

// What a refusal says goes to a stranger's screen and to logs.
func TestErrorsAreFitToShow(t *testing.T) {
	t.Parallel()
	for _, hostile := range []string{"\x1b[31m", "<script>", "\n", "\x00", "\u202e", "\xff", strings.Repeat("A", 100_000)} {
		for _, raw := range []string{hostile, `{` + hostile, `{"type":` + hostile, `{"type":"X` + hostile, `{"type":"X"}` + hostile + "!", `{"type":"X","a":"\` + hostile} {
			var e agui.Event
			err := agui.Scan([]byte(raw), &e)
			require.Error(t, err)
			require.LessOrEqual(t, len(err.Error()), 200)
			for _, r := range err.Error() {
				require.True(t, r >= 0x20 && r < 0x7f, "%q", err.Error())
			}
		}
	}
	require.False(t, errors.Is(agui.Scan(nil, new(agui.Event)), agui.ErrUTF8))
}

func TestUNI04_NULAndInvalidUTF8(t *testing.T) {
	t.Parallel()
	var e agui.Event
	for _, shape := range []string{
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"before@after"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":"{\"a@"}`,
		`{"type":"STATE_SNAPSHOT","snapshot":{"k@":[{"@":1}]}}`,
		`{"type":"TOOL_CALL_START","toolCallId":"t","toolCallName":"@"}`,
		`{"type":"@"}`,
		`{"type":"X","@":1}`,
	} {
		at := strings.Index(shape, "@")
		with := func(s string) []byte { return []byte(strings.Replace(shape, "@", s, 1)) }
		// NUL as an escape is text like any other.
		require.NoError(t, agui.Scan(with(`\u0000`), &e))
		require.Equal(t, string(with(`\u0000`)), string(e.Raw))
		err := agui.Scan(with("\x00"), &e)
		require.ErrorIs(t, err, agui.ErrSyntax)
		require.ErrorContains(t, err, `\u0000`, "says how to write it")

		for _, bad := range []string{
			"\xff\xfe", "\xc0\x80", "\xed\xa0\x80\x90\x80\x80", "\xe4\xb8", "\xf0\x9f\x98", "\x80", "\xf4\x90\x80\x80", "\xed\xa0\x80", "\xe0\x80\x80", "\xf8\x88\x80\x80\x80",
		} {
			err := agui.Scan(with(bad), &e)
			require.ErrorIs(t, err, agui.ErrUTF8, "%q in %s", bad, shape)
			var syntax *agui.SyntaxError
			require.ErrorAs(t, err, &syntax)
			require.Equal(t, at, syntax.Offset)
			// Later events are unaffected.
			require.NoError(t, agui.Scan(with("fine é中😀"), &e))
		}
	}
}
