package agui_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Events that the rules are made of, as frames.
const (
	runStarted  = `data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}` + "\n\n"
	runFinished = `data: {"type":"RUN_FINISHED","threadId":"t","runId":"r"}` + "\n\n"
	runError    = `data: {"type":"RUN_ERROR","message":"lost"}` + "\n\n"
	custom      = `data: {"type":"CUSTOM","name":"x","value":1}` + "\n\n"
	textStart   = `data: {"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}` + "\n\n"
	textHi      = `data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"hi"}` + "\n\n"
	textEnd     = `data: {"type":"TEXT_MESSAGE_END","messageId":"m"}` + "\n\n"
	text        = textStart + textHi + textEnd
	toolStart   = `data: {"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"x"}` + "\n\n"
	stepStart   = `data: {"type":"STEP_STARTED","stepName":"s"}` + "\n\n"
	whole       = runStarted + text + runFinished
)

// someInput is what a client posts where the answer does not depend on it.
const someInput = "testdata/copilotkit-text.input.json"

// rule is one thing that the stock client does, which the legacy wire counts on or has to avoid.
type rule struct {
	name    string
	body    string
	outcome string
	says    string // part of the error, where the client rejects the run
}

var rules = []rule{
	// What may stand between and around events.
	{"comments are ignored", ": a\n\n" + runStarted + ": b\n\n" + textStart + ": c\n" + textHi + textEnd + runFinished + ": d\n\n", "finished", ""},
	{"a retry field is ignored", "retry: 500\n\n" + whole, "finished", ""},
	{"ids are ignored", strings.ReplaceAll(whole, "data:", "id: x:1\ndata:"), "finished", ""},
	{"event names are ignored", strings.ReplaceAll(whole, "data:", "event: other\ndata:"), "finished", ""},
	{"CRLF is fatal", strings.ReplaceAll(whole, "\n", "\r\n"), "rejected", "after JSON"},
	{"an empty data line is fatal", runStarted + "data:\n\n" + runFinished, "rejected", "end of JSON"},
	{"[DONE] is fatal", whole + "data: [DONE]\n\n", "rejected", "not valid JSON"},

	// How a run begins.
	{"RUN_ERROR may come first", runError, "error", ""},
	{"nothing else may come before RUN_STARTED", custom + whole, "rejected", "First event must be 'RUN_STARTED'"},
	{"a run that is running cannot start again", runStarted + text + whole, "rejected", "a run is still active"},
	{"the thread and run of RUN_STARTED need not be those asked for", strings.ReplaceAll(whole, `"t"`, `"other"`), "finished", ""},

	// How a run ends.
	{"an end of the stream without a terminal event counts as success", runStarted + text, "eof", ""},
	{"so does one inside a message", runStarted + textStart + textHi, "eof", ""},
	{"so does an empty stream", "", "eof", ""},
	{"RUN_ERROR may come while a message is open", runStarted + textStart + textHi + runError, "error", ""},
	{"RUN_ERROR may come while a tool call is open", runStarted + toolStart + runError, "error", ""},
	{"RUN_ERROR may come while a step is open", runStarted + stepStart + runError, "error", ""},
	{"RUN_ERROR may follow RUN_FINISHED and wins", whole + runError, "error", ""},
	{"RUN_ERROR needs no empty line at the end of the stream", runStarted + strings.TrimRight(runError, "\n"), "error", ""},
	{"RUN_FINISHED may not come while a message is open", runStarted + textStart + runFinished, "rejected", "text messages are still active"},
	{"RUN_FINISHED may not come while a tool call is open", runStarted + toolStart + runFinished, "rejected", "tool calls are still active"},
	{"RUN_FINISHED may not come while a step is open", runStarted + stepStart + runFinished, "rejected", "steps are still active"},
	{"nothing else may follow RUN_FINISHED", whole + custom, "rejected", "already finished"},
	{"not even RUN_FINISHED", whole + runFinished, "rejected", "already finished"},
	{"nothing may follow RUN_ERROR", runStarted + runError + custom, "rejected", "already errored"},
	{"not even RUN_ERROR", runStarted + runError + runError, "rejected", "already errored"},

	// What happens to single events.
	{"an unknown type is dropped", runStarted + strings.Replace(custom, "CUSTOM", "OF_TOMORROW", 1) + text + runFinished, "finished", ""},
	{"an event cut short is fatal", runStarted + textStart + textHi[:20], "rejected", "JSON"},
	{"content without a start is fatal", runStarted + textHi + runFinished, "rejected", "No active text message"},
}

func pathOf(rule string) string { return "/" + strings.ReplaceAll(rule, " ", "-") }

func TestStockClientRules(t *testing.T) {
	t.Parallel()
	bodies := make(map[string]string, len(rules))
	for _, rule := range rules {
		bodies[pathOf(rule.name)] = rule.body
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, bodies[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	jobs := make([]job, len(rules))
	for i, rule := range rules {
		jobs[i] = job{someInput, server.URL + pathOf(rule.name)}
	}
	for i, got := range read(t, jobs...) {
		rule := rules[i]
		require.Equal(t, rule.outcome, got.Outcome, "%s: %+v", rule.name, got.Error)
		if rule.outcome == "rejected" {
			require.Contains(t, got.Error.Message, rule.says, rule.name)
		}
	}
}

func TestStockClientRejectsWhatIsNoStream(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/idle":
			w.WriteHeader(http.StatusNoContent)
		case "/broken":
			_, _ = io.WriteString(w, runStarted+text+runFinished)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler) // a connection cut after the terminal event
		default:
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"code":"unavailable"}`)
		}
	}))
	t.Cleanup(server.Close)
	got := read(t, job{someInput, server.URL + "/idle"}, job{someInput, server.URL + "/broken"}, job{someInput, server.URL + "/problem"})
	for _, v := range got {
		require.Equal(t, "rejected", v.Outcome)
	}
	require.Contains(t, got[2].Error.Message, `HTTP 503: {"code":"unavailable"}`)
}

// The promise of runAgent settles when the stream ends, not at RUN_FINISHED: what the relay waits for after it, the
// stock client waits for too.
func TestStockClientWaitsForTheStreamToEnd(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, whole)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-release:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, runError)
	}))
	t.Cleanup(server.Close)
	client := start(t, job{someInput, server.URL})
	client.waitFor(5)
	close(release)
	require.Equal(t, "error", client.wait()[0].Outcome)
}
