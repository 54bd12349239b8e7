package clients_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// uiMessage is a message of the AI SDK, as far as these tests look at it.
type uiMessage struct {
	ID, Role string
	Parts    []uiPart
}

type uiPart struct {
	Type, Text, State, ToolName, ToolCallID, ErrorText string
	Input, Output, Data                                json.RawMessage
	Approval                                           *struct {
		ID       string
		Approved *bool
	}
}

// text is what its text parts say.
func (m uiMessage) text() (all string) {
	for _, p := range m.Parts {
		if p.Type == "text" {
			all += p.Text
		}
	}
	return all
}

// part is the first part of a type, or that of a tool call.
func (m uiMessage) part(name string) (p uiPart) {
	for _, p := range m.Parts {
		if p.Type == name || p.ToolName == name {
			return p
		}
	}
	return p
}

// The AI SDK knows every chunk, and what it makes of them is what the vector is about.
func TestTheAISDKTakesEveryVector(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../../consumer/testdata/uimessages/*.json")
	require.NoError(t, err)
	s := start(t, "vectors.mjs", paths...)
	type played struct {
		Name, Error, Status string
		Messages            []uiMessage
		Finish              *struct {
			FinishReason string
			IsError      bool
		}
		Data []string
	}
	all := map[string]played{}
	for _, path := range paths {
		var v struct {
			Name      string
			MessageID string `json:"message_id"`
			Chunks    []struct{ Type, ErrorText, FinishReason, ID string }
		}
		readJSON(t, path, &v, "")
		var got played
		s.heard("played", &got)
		require.Equal(t, v.Name, got.Name)
		all[v.Name] = got
		if len(v.Chunks) == 0 {
			continue
		}
		last := v.Chunks[len(v.Chunks)-1]
		require.Equal(t, last.ErrorText, got.Error, v.Name)
		require.Equal(t, last.FinishReason, got.Finish.FinishReason, v.Name)
		require.Equal(t, last.Type == "error", got.Finish.IsError, v.Name)
		require.Len(t, got.Messages, 1, v.Name)
		require.Equal(t, v.MessageID, got.Messages[0].ID, v.Name)
		for _, p := range got.Messages[0].Parts {
			if v.Name != "open" {
				require.NotContains(t, []string{"streaming", "input-streaming"}, p.State, "%s leaves something open", v.Name)
			}
		}
	}
	s.heard("done", nil)
	for _, line := range s.told {
		require.False(t, strings.HasPrefix(line, "unknown"), line)
	}
	of := func(name string) uiMessage { return all[name].Messages[0] }
	require.Equal(t, "Hello 😀", of("text").text())
	require.Equal(t, "hm, yes", of("reasoning").part("reasoning").Text)
	require.JSONEq(t, `{"degrees":21}`, string(of("tool-call").part("weather").Output))
	require.Equal(t, "input-available", of("tool-waits").part("confirm").State)
	require.Equal(t, "output-available", of("approval-of-a-tool").part("rm").State)
	require.True(t, *of("approval-of-a-tool").part("rm").Approval.Approved)
	var states []string
	for _, p := range of("approval-alone").Parts {
		if p.ToolName == "demo.permission" {
			states = append(states, p.State)
		}
	}
	require.Equal(t, []string{"output-available", "output-denied", "output-error"}, states)
	require.Contains(t, string(of("form").part("data-demo.form").Data), `"accepted"`)
	require.JSONEq(t, `{"entries":[1,2]}`, string(of("data").part("data-acp.plan").Data))
	require.Contains(t, all["data"].Data, "data-state-delta")
	require.Equal(t, "half", of("run-error").text())
	require.Equal(t, "xagain", of("disorder").text())
	require.Equal(t, "a\u2028b\u2029c\u0085\r\nd\ndata: {\"type\":\"finish\"}\n\n<&>\x00x", of("seams").text())
}
