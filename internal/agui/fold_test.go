package agui_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/stretchr/testify/require"
)

// fold is the fold of some lines, as lines. It adds every event from one buffer
// that is overwritten at once: a fold keeps nothing of its caller's.
func fold(t require.TestingT, lines []string) []string {
	var f agui.Fold
	add(t, &f, lines...)
	return read(t, &f)
}

func add(t require.TestingT, f *agui.Fold, lines ...string) {
	var e agui.Event
	var buf []byte
	for _, line := range lines {
		buf = append(buf[:0], line...)
		require.NoError(t, agui.Scan(buf, &e), "%q", line)
		f.Add(&e)
		for i := range buf {
			buf[i] = '#'
		}
	}
}

// read is what the fold holds, which must be as it says.
func read(t require.TestingT, f *agui.Fold) (out []string) {
	all := f.AppendTo([]byte("before"))
	require.Equal(t, "before", string(all[:6]))
	require.Equal(t, f.Len(), len(all)-6)
	for line := range agui.Lines(all[6:]) {
		out = append(out, string(line))
	}
	require.Equal(t, f.Count(), len(out))
	require.Equal(t, strings.Join(out, "\n"), string(all[6:]))
	return out
}

func TestFoldMerges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want []string }{
		"deltas of one message": {
			[]string{`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"b"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"c"}`},
			[]string{`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"abc"}`},
		},
		"empty deltas, which are kept alone": {
			[]string{`{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":""}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":""}`},
			[]string{`{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":""}`},
		},
		"fields after the delta": {
			[]string{`{"type":"TOOL_CALL_ARGS","delta":"a","toolCallId":"t","metadata":{"n":1}}`, `{"type":"TOOL_CALL_ARGS","delta":"bcd","toolCallId":"t","metadata":{"n":1}}`, `{"type":"TOOL_CALL_ARGS","delta":"e","toolCallId":"t","metadata":{"n":1}}`},
			[]string{`{"type":"TOOL_CALL_ARGS","delta":"abcde","toolCallId":"t","metadata":{"n":1}}`},
		},
		"the first timestamp stays": {
			[]string{`{"type":"TOOL_CALL_ARGS","timestamp":1,"toolCallId":"t","delta":"a"}`, `{"type":"TOOL_CALL_ARGS","timestamp":2,"toolCallId":"t","delta":"b"}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":"c"}`},
			[]string{`{"type":"TOOL_CALL_ARGS","timestamp":1,"toolCallId":"t","delta":"abc"}`},
		},
		"its absence stays": {
			[]string{`{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":"a"}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":"b","timestamp":2}`},
			[]string{`{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":"ab"}`},
		},
		"the order of fields and white space mean nothing": {
			[]string{`{"type":"TOOL_CALL_ARGS","toolCallId":"t","x":[1],"delta":"a"}`, `{ "x":[1], "delta" : "b", "toolCallId" :"t" , "type":"TOOL_CALL_ARGS"} `},
			[]string{`{"type":"TOOL_CALL_ARGS","toolCallId":"t","x":[1],"delta":"ab"}`},
		},
		"escapes are joined as written": {
			[]string{`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\ud83d"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\uDE00\/\n"}`},
			[]string{`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\ud83d\uDE00\/\n"}`},
		},
		"events without an id": {
			[]string{`{"type":"THINKING_TEXT_MESSAGE_CONTENT","delta":"a"}`, `{"type":"THINKING_TEXT_MESSAGE_CONTENT","delta":"b"}`},
			[]string{`{"type":"THINKING_TEXT_MESSAGE_CONTENT","delta":"ab"}`},
		},
	} {
		require.Equal(t, c.want, fold(t, c.in), name)
		require.Equal(t, c.want, mergeAll(c.in), "the reference: "+name)
	}
}

func TestFoldKeepsApart(t *testing.T) {
	t.Parallel()
	args := `{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":"a"}`
	for name, in := range map[string][]string{
		"another message":           {args, `{"type":"TOOL_CALL_ARGS","toolCallId":"u","delta":"a"}`},
		"another type":              {`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"}`, `{"type":"REASONING_MESSAGE_CONTENT","messageId":"m","delta":"a"}`},
		"something between":         {args, `{"type":"CUSTOM","name":"n","value":1}`, args},
		"a field more":              {args, `{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":"a","metadata":{}}`},
		"a field less":              {`{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":"a","metadata":{}}`, args},
		"a field in place of one":   {`{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":"a","x":1}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":"a","y":1}`},
		"a value written otherwise": {`{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":"a","x":1}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":"a","x":1.0}`},
		"an id written otherwise":   {args, `{"type":"TOOL_CALL_ARGS","toolCallId":"\u0074","delta":"a"}`},
		"key and value shifted":     {`{"type":"TOOL_CALL_ARGS","delta":"a","ab":"c"}`, `{"type":"TOOL_CALL_ARGS","delta":"a","a":"bc"}`},
		"an escaped key":            {args, `{"type":"TOOL_CALL_ARGS","toolCallId":"t","delt\u0061":"a"}`},
		"a key twice":               {args, `{"type":"TOOL_CALL_ARGS","toolCallId":"t","toolCallId":"t","delta":"a"}`},
		"a delta twice":             {args, `{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":"a","delta":"a"}`},
		"no delta":                  {args, `{"type":"TOOL_CALL_ARGS","toolCallId":"t"}`, args},
		"a delta that is no string": {args, `{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":null}`, args},
		"chunks":                    {`{"type":"TEXT_MESSAGE_CHUNK","delta":"a"}`, `{"type":"TEXT_MESSAGE_CHUNK","delta":"a"}`},
		"state":                     {`{"type":"STATE_DELTA","delta":[]}`, `{"type":"STATE_DELTA","delta":[]}`},
		"activities":                {`{"type":"ACTIVITY_SNAPSHOT","messageId":"a","content":{}}`, `{"type":"ACTIVITY_SNAPSHOT","messageId":"a","content":{}}`},
		"unknown types":             {`{"type":"NEW_CONTENT","delta":"a"}`, `{"type":"NEW_CONTENT","delta":"a"}`},
	} {
		require.Equal(t, in, fold(t, in), name)
		require.Equal(t, in, mergeAll(in), "the reference: "+name)
	}
}

func TestFoldStopsAtTheLimit(t *testing.T) {
	t.Parallel()
	args := func(n int) string {
		return `{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":"` + strings.Repeat("x", n) + `"}`
	}
	require.Equal(t, []string{args(agui.MaxDelta)}, fold(t, []string{args(agui.MaxDelta - 1), args(1), args(0)}))
	require.Equal(t, []string{args(agui.MaxDelta), args(1)}, fold(t, []string{args(agui.MaxDelta), args(1)}))
	// One that was larger to begin with passes, and stays alone.
	big := args(agui.MaxDelta + 1)
	require.Equal(t, []string{args(1), big, args(0), big}, fold(t, []string{args(1), big, args(0), big}))
	// 2 MiB in pieces become two events, not one for each piece and not one.
	pieces := slices.Repeat([]string{args(1000)}, 2098)
	out := fold(t, pieces)
	require.Equal(t, []string{args(1048 * 1000), args(1048 * 1000), args(2 * 1000)}, out)
}

func TestFoldCanBeReadWhileItGrows(t *testing.T) {
	t.Parallel()
	var f agui.Fold
	require.Zero(t, f.Len())
	require.Empty(t, f.AppendTo(nil))
	require.Nil(t, f.Cut())
	text := func(s string) string {
		return `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"` + s + `","z":0}`
	}
	custom := `{"type":"CUSTOM","name":"n","value":1}`
	add(t, &f, text("a"))
	require.Equal(t, []string{text("a")}, read(t, &f))
	add(t, &f, text("b"))
	first := f.AppendTo(nil)
	require.Equal(t, []string{text("ab")}, read(t, &f))
	add(t, &f, text("c"), custom)
	require.Equal(t, []string{text("abc"), custom}, read(t, &f))
	require.Equal(t, text("ab"), string(first), "what was read stays as it was")

	// Nothing merges across a cut.
	add(t, &f, text("d"))
	require.Equal(t, text("abc")+"\n"+custom+"\n"+text("d"), string(f.Cut()))
	require.Zero(t, f.Len())
	require.Zero(t, f.Count())
	add(t, &f, text("e"))
	require.Equal(t, []string{text("e")}, read(t, &f))
	f.Reset()
	require.Nil(t, f.Cut())
	add(t, &f, custom)
	require.Equal(t, custom, string(f.Cut()))
}

func TestFoldAddLines(t *testing.T) {
	t.Parallel()
	a, b := `{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":"a"}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":"b"}`
	var f agui.Fold
	n, err := f.AddLines([]byte(a + "\n\n" + b + "\n"))
	require.NoError(t, err)
	require.Equal(t, 2, n)
	n, err = f.AddLines([]byte(a + "\n{}\n" + b))
	require.ErrorIs(t, err, agui.ErrNoType)
	require.Equal(t, 1, n)
	require.Equal(t, []string{`{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":"aba"}`}, read(t, &f))
	require.Panics(t, func() { f.Add(new(agui.Event)) })
}

// Appending never moves what is there: the number of allocations is that of the
// 32 KiB pieces (and of the list of them), however many deltas come.
func TestFoldIsLinear(t *testing.T) {
	var events []agui.Event
	for _, raw := range deltas(10_000, 1024) {
		var e agui.Event
		require.NoError(t, agui.Scan(raw, &e))
		events = append(events, e)
	}
	n := testing.AllocsPerRun(3, func() {
		var f agui.Fold
		for i := range events {
			f.Add(&events[i])
		}
	})
	require.Less(t, n, float64(10_000*1024/(32<<10)+40))
}

func TestLines(t *testing.T) {
	t.Parallel()
	require.Equal(t, `[]`, string(agui.AppendArray(nil)))
	require.Equal(t, `x[]`, string(agui.AppendArray([]byte("x"), nil, []byte(""), []byte("\n\n"))))
	require.Equal(t, `[{"a":1},{"b":2},{"c":3}]`, string(agui.AppendArray(nil, []byte("{\"a\":1}\n{\"b\":2}"), nil, []byte("{\"c\":3}\n"))))
	for line := range agui.Lines([]byte("a\nb\nc")) {
		require.Equal(t, len(line), cap(line), "appending to a line must not touch the next")
		if string(line) == "b" {
			break
		}
	}
	raw := []byte(`{"a":"\n"}`)
	require.Same(t, &raw[0], &agui.OneLine(raw)[0], "nothing to do, nothing copied")
	require.Equal(t, `{"a":  "\n"}`, string(agui.OneLine([]byte("{\r\n\"a\":\n  \"\\n\"\n}\r"))))
	require.True(t, json.Valid(agui.AppendArray(nil, []byte("{}\n{}"))))
}

func TestArrayLinesUndoesAppendArray(t *testing.T) {
	t.Parallel()
	for _, lines := range []string{"", "{\"a\":1}\n", "{\"a\":\"\\n\"}\n[1]\n"} {
		got, err := agui.ArrayLines(agui.AppendArray(nil, []byte(lines)))
		require.NoError(t, err)
		require.Equal(t, lines, string(got))
	}
	got, err := agui.ArrayLines([]byte("[{\n\"a\":1},\r\n 2 ]"))
	require.NoError(t, err)
	require.Equal(t, "{\"a\":1}\n2\n", string(got))
	_, err = agui.ArrayLines([]byte("{}"))
	require.Error(t, err)
}
