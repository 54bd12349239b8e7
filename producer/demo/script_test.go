package demo_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/producer/demo"
)

func script(n int) (events [][]byte) {
	return slices.Collect(demo.Script("chat", n, 0))
}

func TestTheSameTurnIsTheSameBytes(t *testing.T) {
	t.Parallel()
	require.Equal(t, script(3), script(3))
	require.NotEqual(t, script(3), script(4))
}

func TestATurnIsAMinuteOfEvents(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 1200, len(script(1)), 200)
}

// A strict client accepts the turn: everything begins before it goes on, ends once, and
// no delta is empty.
func TestATurnIsWellFormed(t *testing.T) {
	t.Parallel()
	for n := range 20 {
		events := script(n)
		open := map[string]bool{}
		var last agui.Type
		for i, raw := range events {
			var e agui.Event
			require.NoError(t, agui.Scan(raw, &e))
			var f struct{ MessageID, ToolCallID, StepName, Delta string }
			require.NoError(t, json.Unmarshal(raw, &f))
			begin := func(key string) {
				require.False(t, open[key], "%s again", key)
				open[key] = true
			}
			end := func(key string) {
				require.True(t, open[key], "%s is not open", key)
				delete(open, key)
			}
			switch e.Type {
			case agui.RunStarted:
				require.Zero(t, i)
			case agui.StepStarted:
				begin("step " + f.StepName)
			case agui.StepFinished:
				end("step " + f.StepName)
			case agui.ReasoningStart:
				begin("reasoning " + f.MessageID)
			case agui.ReasoningEnd:
				end("reasoning " + f.MessageID)
			case agui.ReasoningMessageStart, agui.TextMessageStart:
				begin("message " + f.MessageID)
			case agui.ReasoningMessageEnd, agui.TextMessageEnd:
				end("message " + f.MessageID)
			case agui.ToolCallStart:
				begin("tool " + f.ToolCallID)
			case agui.ToolCallEnd:
				end("tool " + f.ToolCallID)
			case agui.ReasoningMessageContent, agui.TextMessageContent:
				require.True(t, open["message "+f.MessageID])
				require.NotEmpty(t, f.Delta)
			case agui.ToolCallArgs:
				require.True(t, open["tool "+f.ToolCallID])
				require.NotEmpty(t, f.Delta)
			case agui.ToolCallResult, agui.RunFinished:
			default:
				t.Fatalf("type %q", e.TypeName())
			}
			last = e.Type
		}
		require.Equal(t, agui.RunFinished, last)
		require.Empty(t, open)
	}
}

func TestTheToolsArgumentsAreJSON(t *testing.T) {
	t.Parallel()
	var args string
	for _, raw := range script(7) {
		var e struct{ Type, Delta string }
		require.NoError(t, json.Unmarshal(raw, &e))
		if e.Type == string(agui.ToolCallArgs) {
			args += e.Delta
		}
	}
	require.True(t, json.Valid([]byte(args)), args)
}

func TestScriptCanBeLeft(t *testing.T) {
	t.Parallel()
	for stop := range 60 {
		n := 0
		for range demo.Script("chat", 1, 1) {
			if n++; n > stop {
				break
			}
		}
	}
}
