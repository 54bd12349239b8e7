package agui_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
)

func stateDelta(ops string) string { return `{"type":"STATE_DELTA","delta":[` + ops + `]}` + "\n" }

func TestStateIsWhatAClientHas(t *testing.T) {
	t.Parallel()
	const before = `{"state":{"a":[1.50,2],"b":{"c/d":"é","~":null}},"messages":[]}`
	for _, c := range []struct{ events, want string }{
		{"", `{"a":[1.50,2],"b":{"c/d":"é","~":null}}`},
		{`{"type":"STATE_SNAPSHOT","snapshot":{"n":12345678901234567890, "x":"<\u2028>"}}`, `{"n":12345678901234567890, "x":"<\u2028>"}`},
		{`{"type":"STATE_SNAPSHOT","snapshot":null}` + "\n" + `{"type":"TEXT_MESSAGE_START","messageId":"m"}`, `{"a":[1.50,2],"b":{"c/d":"é","~":null}}`},
		{stateDelta(`{"op":"add","path":"/a/-","value":3},{"op":"add","path":"/a/0","value":0}`), `{"a":[0,1.50,2,3],"b":{"c/d":"é","~":null}}`},
		{stateDelta(`{"op":"replace","path":"/b/c~1d","value":"<&>"},{"op":"remove","path":"/b/~0"}`), `{"a":[1.50,2],"b":{"c/d":"<&>"}}`},
		{stateDelta(`{"op":"move","from":"/a/1","path":"/b/c~1d"},{"op":"copy","from":"/b","path":"/a/0"}`), `{"a":[{"c/d":2,"~":null},1.50],"b":{"c/d":2,"~":null}}`},
		{stateDelta(`{"op":"copy","from":"/a","path":"/z"},{"op":"add","path":"/z/-","value":9}`), `{"a":[1.50,2],"b":{"c/d":"é","~":null},"z":[1.50,2,9]}`},
		{stateDelta(`{"op":"test","path":"/a/1","value":2},{"op":"replace","path":"","value":{"all":true}}`), `{"all":true}`},
		{stateDelta(`{"op":"remove","path":"/a/0"}`) + stateDelta(`{"op":"add","path":"/b","value":1}`), `{"a":[2],"b":1}`},
	} {
		var s agui.State
		require.NoError(t, s.AddTurn(json.RawMessage(before), []byte(c.events)))
		require.JSONEq(t, c.want, string(s.JSON()), c.events)
		require.Contains(t, string(s.JSON())+"1.50 12345678901234567890", "1.50", "numbers stay as they are written")
	}
}

// A patch that fits nowhere changes nothing at all.
func TestStateTakesPatchesWhole(t *testing.T) {
	t.Parallel()
	const before = `{"state":{"a":[1,2],"s":"x"}}`
	for _, bad := range []string{
		`{"op":"remove","path":"/b"}`, `{"op":"replace","path":"/b","value":1}`, `{"op":"add","path":"/b/c","value":1}`,
		`{"op":"add","path":"/a/4","value":1}`, `{"op":"add","path":"/a/01","value":1}`, `{"op":"add","path":"/a/+1","value":1}`,
		`{"op":"replace","path":"/a/-","value":1}`, `{"op":"remove","path":"/a/2"}`, `{"op":"add","path":"/s/0","value":1}`,
		`{"op":"move","from":"/b","path":"/a"}`, `{"op":"copy","from":"/b","path":"/a"}`, `{"op":"test","path":"/s","value":"y"}`,
		`{"op":"add","path":"a","value":1}`, `{"op":"add","value":1}`, `{"op":"grow","path":"/a"}`, `{"op":1}`,
		fmt.Sprintf(`{"op":"add","path":%q,"value":1}`, strings.Repeat("/a", 101)),
	} {
		var s agui.State
		require.NoError(t, s.AddTurn(json.RawMessage(before), []byte(stateDelta(`{"op":"add","path":"/first","value":1},`+bad))))
		require.JSONEq(t, `{"a":[1,2],"s":"x"}`, string(s.JSON()), bad)
	}
	var s agui.State
	require.NoError(t, s.AddTurn(nil, []byte(`{"type":"STATE_DELTA","delta":{}}`+"\n"+`{"type":"STATE_DELTA"}`)))
	require.JSONEq(t, `{}`, string(s.JSON()))
	require.Error(t, s.AddTurn(nil, []byte(`{`)))
}

// A client's state takes the place of what the turns before it made; without one they count.
func TestStateGoesOnFromTurnToTurn(t *testing.T) {
	t.Parallel()
	var s agui.State
	require.JSONEq(t, `{}`, string(s.JSON()))
	require.NoError(t, s.AddTurn(json.RawMessage(`{"text":"hi"}`), []byte(stateDelta(`{"op":"add","path":"/n","value":1}`))))
	require.NoError(t, s.AddTurn(json.RawMessage(`{"text":"hi"}`), []byte(stateDelta(`{"op":"add","path":"/m","value":2}`))))
	require.JSONEq(t, `{"n":1,"m":2}`, string(s.JSON()))
	require.NoError(t, s.AddTurn(json.RawMessage(`{"state":{"k":3},"messages":[]}`), nil))
	require.JSONEq(t, `{"k":3}`, string(s.JSON()))
}

// Copies of copies do not become large.
func TestStateStaysSmall(t *testing.T) {
	t.Parallel()
	var s agui.State
	input := json.RawMessage(`{"state":{"a":"` + strings.Repeat("x", 1000) + `"}}`)
	events := strings.Repeat(stateDelta(`{"op":"copy","from":"","path":"/b"}`), 64)
	require.NoError(t, s.AddTurn(input, []byte(events)))
	require.Less(t, len(s.JSON()), 64<<20)
}
