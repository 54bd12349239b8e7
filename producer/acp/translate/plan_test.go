package translate_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlanIsOneActivity(t *testing.T) {
	t.Parallel()
	tr := begin(t).updates(
		`{"sessionUpdate":"plan","entries":[{"content":"a","priority":"high","status":"pending"}],"_meta":{"x":1}}`,
		`{"sessionUpdate":"plan","entries":[]}`,
	)
	tr.gave(
		`{"type":"ACTIVITY_SNAPSHOT","messageId":"plan-r","activityType":"acp.plan","content":{"entries":[{"content":"a","priority":"high","status":"pending"}],"_meta":{"x":1}},"replace":true}`,
		`{"type":"ACTIVITY_SNAPSHOT","messageId":"plan-r","activityType":"acp.plan","content":{"entries":[]},"replace":true}`,
	)
}

func TestEverythingElseIsCustom(t *testing.T) {
	t.Parallel()
	for update, name := range map[string]string{
		`{"sessionUpdate":"current_mode_update","currentModeId":"ask"}`:                     "acp.current_mode_update",
		`{"sessionUpdate":"usage_update","used":1,"size":18446744073709551615,"cost":1.10}`: "acp.usage_update",
		`{"sessionUpdate":"notice","severity":"info","title":"t"}`:                          "acp.notice",
		`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"hi"}}`:      "acp.user_message_chunk",
		`{"sessionUpdate":"_x/of-tomorrow", "n" : 1}`:                                       "acp._x/of-tomorrow",
		`{"sessionUpdate":"permission.request","requestId":"1","status":"pending"}`:         "acp.update",
		`{"sessionUpdate":"` + strings.Repeat("x", 65) + `"}`:                               "acp.update",
	} {
		tr := begin(t).updates(update)
		tr.gave(`{"type":"CUSTOM","name":"` + name + `","value":` + update + `}`)
	}
}

// Side information does not cut the message it comes within.
func TestSideInformationLeavesTheMessageOpen(t *testing.T) {
	t.Parallel()
	tr := begin(t).updates(say("a"), `{"sessionUpdate":"usage_update","used":1,"size":2}`, `{"sessionUpdate":"plan","entries":[]}`, say("b"))
	require.Equal(t, 1, strings.Count(strings.Join(tr.events, "\n"), "TEXT_MESSAGE_START"))
}
