package agui_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// upstream is an AG-UI agent by hand. It keeps what it is asked and answers as the test says.
type upstream struct {
	t   *testing.T
	url string

	mu    sync.Mutex
	asked []*asked
}

// asked is one request to the agent, and the way to answer it.
type asked struct {
	n                int // from 0
	header           http.Header
	body             string
	ThreadID, RunID  string
	Messages, Resume json.RawMessage
	State            json.RawMessage

	w    http.ResponseWriter
	gone <-chan struct{} // closed when the request is
}

// newUpstream serves an agent until the test ends.
func newUpstream(t *testing.T, answer func(*asked)) *upstream {
	t.Helper()
	u := &upstream{t: t}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		a := &asked{header: r.Header.Clone(), body: string(body), w: w, gone: r.Context().Done()}
		if err := json.Unmarshal(body, a); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		u.mu.Lock()
		a.n = len(u.asked)
		u.asked = append(u.asked, a)
		u.mu.Unlock()
		answer(a)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	u.url = server.URL
	return u
}

// say sends bytes at once.
func (a *asked) say(body []byte) {
	a.w.Header().Set("Content-Type", "text/event-stream")
	_, _ = a.w.Write(body)
	_ = http.NewResponseController(a.w).Flush()
}

// hold waits for the test, or until the request is gone.
func (a *asked) hold(until <-chan struct{}) {
	select {
	case <-until:
	case <-a.gone:
	}
}

// requests are what the agent was asked so far.
func (u *upstream) requests() []*asked {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]*asked(nil), u.asked...)
}

// answer is a run of an agent by hand: the events, between RUN_STARTED and a RUN_FINISHED with more.
func (a *asked) answer(more string, events ...string) []byte {
	ids := fmt.Sprintf(`"threadId":%q,"runId":%q`, a.ThreadID, a.RunID)
	body := "data: {\"type\":\"RUN_STARTED\"," + ids + "}\n\n"
	for _, e := range events {
		body += "data: " + e + "\n\n"
	}
	return []byte(body + "data: {\"type\":\"RUN_FINISHED\"," + ids + more + "}\n\n")
}

// says is the events of a message.
func says(id, text string) []string {
	return []string{
		fmt.Sprintf(`{"type":"TEXT_MESSAGE_START","messageId":%q,"role":"assistant"}`, id),
		fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":%q,"delta":%q}`, id, text),
		fmt.Sprintf(`{"type":"TEXT_MESSAGE_END","messageId":%q}`, id),
	}
}

// calls is the events of a tool call that the page answers.
func calls(id, name, args string) []string {
	return []string{
		fmt.Sprintf(`{"type":"TOOL_CALL_START","toolCallId":%q,"toolCallName":%q}`, id, name),
		fmt.Sprintf(`{"type":"TOOL_CALL_ARGS","toolCallId":%q,"delta":%q}`, id, args),
		fmt.Sprintf(`{"type":"TOOL_CALL_END","toolCallId":%q}`, id),
	}
}
