package agui_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/stretchr/testify/require"
)

var seeds = []string{
	`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a\ud83d"}`,
	"{\r\n\"type\" : \"RAW\",\n\"event\" : {\"a\":[1,-2.5e+7,true,false,null,\"\\u00e9\",{}]}}",
	`{"k":,`, `{"type":"X","type":"Y"}`, `{"\u0074ype":"X"}`, `{"type":"RUN\u005fERROR"}`, `{"type":""}`, `{"type":1}`, `{}`, `[]`, `{"type":"X"}{}`, `{"type":"X","n":01}`,
	`{"type":"X","s":"\x"}`, "{\"type\":\"X\",\"s\":\"\xed\xa0\x80\"}", "{\"type\":\"X\",\"s\":\"\x00\"}", `{"type":"TOOL_CALL_ARGS","delta":"","delta":""}`,
	`{"type":"X","v":` + strings.Repeat("[", 600), "\xef\xbb\xbf{}", `{"type":"X","s":"12345678\`, `{"type":"X","":{"":[[[],{}]]}}`,
}

// FuzzScan holds Scan against the standard library's idea of JSON and UTF-8.
func FuzzScan(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { agrees(t, raw) })
}

// agrees checks that Scan and the oracle say the same of raw.
func agrees(t require.TestingT, raw []byte) {
	// Reading past the end would show as a panic, or as the poison's doing.
	tight := slices.Clip(bytes.Clone(raw))
	roomy := append(bytes.Clone(raw), `"}]},1e9\u0000`...)[:len(raw)]
	var e, again agui.Event
	err := agui.Scan(tight, &e)
	err2 := agui.Scan(roomy, &again)
	require.Equal(t, err, err2)
	require.Equal(t, raw, tight, "the input is not written to")

	typ, kind := oracle(raw)
	if kind != nil {
		require.Error(t, err)
		require.ErrorIs(t, err, agui.ErrInvalid)
		var syntax *agui.SyntaxError
		require.ErrorAs(t, err, &syntax)
		require.True(t, syntax.Offset >= 0 && syntax.Offset <= len(raw))
		if !errors.Is(kind, errUnsure) {
			require.ErrorIs(t, err, kind)
		}
		require.LessOrEqual(t, len(err.Error()), 200)
		require.True(t, utf8.ValidString(err.Error()))
		require.Nil(t, e.Raw)
		return
	}
	require.NoError(t, err)
	line := strings.NewReplacer("\n", "", "\r", "").Replace(string(raw))
	require.Equal(t, line, string(e.Raw))
	var name string
	require.NoError(t, json.Unmarshal([]byte(`"`+string(e.TypeName())+`"`), &name))
	require.Equal(t, typ, name)
	if e.Type != "" {
		require.Equal(t, typ, string(e.Type))
	}
	if e.Mergeable() {
		var m map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(raw, &m))
		require.Equal(t, string(m["delta"]), `"`+string(e.Delta())+`"`)
	}
}

var errUnsure = errors.New("refused, for one of several reasons")

// oracle says by encoding/json whether raw is an event and of which type.
func oracle(raw []byte) (typ string, kind error) {
	if !utf8.Valid(raw) {
		return "", errUnsure // unless the grammar was violated before
	}
	if !json.Valid(raw) {
		return "", errUnsure // it may have been too deep, or no object, before that
	}
	if bytes.TrimLeft(raw, " \t\r\n")[0] != '{' {
		return "", agui.ErrNotObject
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	depth, deepest := 0, 0
	for {
		tok, err := d.Token()
		if err != nil {
			break
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			depth++
			deepest = max(deepest, depth)
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
	types := 0
	for _, m := range members(string(raw)) {
		if m.key == "type" {
			types++
			typ = ""
			if json.Unmarshal([]byte(m.value), &typ) != nil || typ == "" {
				return "", errUnsure
			}
		}
	}
	switch {
	case deepest > agui.MaxDepth && types != 1:
		return "", errUnsure
	case deepest > agui.MaxDepth:
		return "", agui.ErrDepth
	case types == 0:
		return "", agui.ErrNoType
	case types > 1:
		return "", agui.ErrDuplicateType
	}
	return typ, nil
}

// FuzzFold holds the fold of any lines against the plainly written rule, and
// what it reduces to against what they do.
func FuzzFold(f *testing.F) {
	f.Add([]byte(strings.Join(seeds, "\n")), uint8(1))
	f.Add([]byte(text("m", "a")+"\n"+text("m", "b")+"\n"+args("t", "{")+"\n"+args("t", "}")), uint8(2))
	f.Add([]byte(`{"type":"TOOL_CALL_ARGS","a":1,"delta":"a","b":2}`+"\n"+`{"b":2,"type":"TOOL_CALL_ARGS","timestamp":1,"delta":"b","a":1}`), uint8(9))
	f.Fuzz(func(t *testing.T, raw []byte, cut uint8) {
		var events []string
		var e agui.Event
		for line := range agui.Lines(raw) {
			if agui.Scan(line, &e) == nil {
				events = append(events, string(e.Raw))
			}
		}
		require.Equal(t, mergeAll(events), fold(t, events))
		k := min(int(cut), len(events))
		require.Equal(t, reduce(events), reduce(slices.Concat(fold(t, events[:k]), events[k:])))
	})
}
