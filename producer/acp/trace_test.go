package acp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/tracing"
	"github.com/rejoin/rejoin/subjects"
)

// A prompt says where in a trace it is, under the names that the protocol keeps for that,
// and has no _meta where it is in none.
func TestAPromptNamesItsTrace(t *testing.T) {
	t.Parallel()
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for want, trace := range map[string]subjects.Trace{
		"":                                 {},
		`{"traceparent":"` + parent + `"}`: {Parent: parent},
		`{"traceparent":"` + parent + `","tracestate":"a=1"}`: {Parent: parent, State: "a=1"},
	} {
		r := newTurn(t, "c", "x")
		r.ctx = tracing.From(r.ctx, trace)
		told := strings.Split(r.finished(newAgent(t, "one that shows its params")), "\n")
		var params struct {
			Meta json.RawMessage `json:"_meta"`
		}
		require.NoError(t, json.Unmarshal([]byte(told[2]), &params))
		if want == "" {
			require.Empty(t, params.Meta)
			continue
		}
		require.JSONEq(t, want, string(params.Meta))
	}
}
