package relay_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/subjects"
)

// uiBody is what useChat posts.
func uiBody(chat, say, more string) string {
	return fmt.Sprintf(`{"id":%q,"messages":[{"id":"u-%s","role":"user","parts":[{"type":"text","text":%q}]}%s],"trigger":"submit-message"}`, chat, say, say, more)
}

// chunk is one of a UI message stream, as far as these tests look at it.
type chunk struct {
	Type, MessageID, Delta, ErrorText, Reason string
}

// uiStream is a UI message stream that is read as it comes.
type uiStream struct {
	t    *testing.T
	resp *http.Response
	*bufio.Reader
}

func (f *fabric) ui(method, path, body string) *uiStream {
	f.t.Helper()
	t := f.t.(*testing.T)
	resp, err := f.client.Do(request(t.Context(), t, method, f.url+path, body))
	require.NoError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	require.Equal(t, "v1", resp.Header.Get("x-vercel-ai-ui-message-stream"))
	return &uiStream{t, resp, bufio.NewReader(resp.Body)}
}

func (u *uiStream) runID() string { return u.resp.Header.Get("Rejoin-Run-Id") }

// next is what the next message says.
func (u *uiStream) next() (string, error) {
	for {
		line, err := u.ReadString('\n')
		if data, ok := strings.CutPrefix(line, "data: "); ok && err == nil {
			return strings.TrimSuffix(data, "\n"), nil
		}
		if err != nil {
			return "", err
		}
	}
}

// until reads chunks up to one of a type.
func (u *uiStream) until(kind string) (all []chunk) {
	u.t.Helper()
	for {
		data, err := u.next()
		require.NoError(u.t, err)
		var c chunk
		require.NoError(u.t, json.Unmarshal([]byte(data), &c), data)
		if all = append(all, c); c.Type == kind {
			return all
		}
	}
}

// done wants the end of the stream.
func (u *uiStream) done() {
	u.t.Helper()
	data, err := u.next()
	require.NoError(u.t, err)
	require.Equal(u.t, "[DONE]", data)
	_, err = u.next()
	require.ErrorIs(u.t, err, io.EOF)
}

func uiText(all []chunk) (text string) {
	for _, c := range all {
		text += c.Delta
	}
	return text
}

func TestUIChatBringsAMessageAndItsRunsChunks(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	require.Equal(t, http.StatusNoContent, f.do(http.MethodGet, "/api/chat/c/stream", "").status)
	u := f.ui(http.MethodPost, "/api/chat", strings.Replace(uiBody("c", "hi", ""), `"id"`, `"model":"m1","id"`, 1))
	var input struct {
		ThreadID, RunID string
		Messages        json.RawMessage
		ForwardedProps  json.RawMessage
	}
	require.NoError(t, json.Unmarshal(f.turn(u.runID()).Input, &input))
	require.Equal(t, "c", input.ThreadID)
	require.NotEmpty(t, input.RunID)
	require.JSONEq(t, `[{"id":"u-hi","role":"user","content":"hi"}]`, string(input.Messages))
	require.JSONEq(t, `{"model":"m1","trigger":"submit-message"}`, string(input.ForwardedProps))
	r := f.begin(u.runID())
	r.publish(runStarted, delta(1))
	require.Equal(t, u.runID(), u.until("text-delta")[0].MessageID)

	// Who comes back is told everything again, live or as a snapshot.
	back := f.ui(http.MethodGet, "/api/chat/c/stream", "")
	require.Equal(t, chunk{Type: "start", MessageID: r.id()}, back.until("start")[0])
	require.Equal(t, "1 ", uiText(back.until("text-delta")))
	r.publish(delta(2), runFinished)
	r.finish(done)
	for _, s := range []*uiStream{u, back} {
		require.Equal(t, "2 ", uiText(s.until("finish")))
		s.done()
	}
	require.Equal(t, http.StatusNoContent, f.do(http.MethodGet, "/api/chat/c/stream", "").status, "it was saved")
	// HANG-02: who was cut off before that, and says so, is not left with half of it.
	named := f.ui(http.MethodGet, "/api/chat/c/stream?run_id="+r.id(), "")
	require.Equal(t, "1 2 ", uiText(named.until("finish")))
	named.done()
	again := f.ui(http.MethodPost, "/api/chat", uiBody("c", "hi", ""))
	require.Equal(t, r.id(), again.runID(), "the same message is the same run")
	require.Equal(t, "1 2 ", uiText(again.until("finish")))
	again.done()
}

func TestUIChatTriggers(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	u := f.ui(http.MethodPost, "/api/chat", uiBody("c", "hi", ""))
	regenerate := strings.Replace(uiBody("c", "hi", ""), "submit-message", "regenerate-message", 1)
	one, two := f.ui(http.MethodPost, "/api/chat", regenerate), f.ui(http.MethodPost, "/api/chat", regenerate)
	require.NotEqual(t, u.runID(), one.runID())
	require.NotEqual(t, one.runID(), two.runID())
	require.Equal(t, "retry", f.view(two.runID()).Kind)
	replaced := one.until("error")
	require.Equal(t, "a newer run took the chat", replaced[len(replaced)-1].ErrorText)

	edit := strings.Replace(uiBody("c", "hi", ""), `"trigger"`, `"messageId":"u-hi","trigger"`, 1)
	e := f.ui(http.MethodPost, "/api/chat", edit)
	require.Equal(t, "edit", f.view(e.runID()).Kind)
	// DUP-02: a client that goes on with the assistant's last message adds to that one.
	more := f.ui(http.MethodPost, "/api/chat", uiBody("c", "hi", `,{"id":"a1","role":"assistant","parts":[{"type":"dynamic-tool","toolName":"x","toolCallId":"c1","state":"output-available","input":{},"output":4}]}`))
	r := f.begin(more.runID())
	r.publish(runStarted)
	require.Equal(t, "a1", more.until("start-step")[0].MessageID)
	require.Equal(t, r.id(), f.ui(http.MethodGet, "/api/chat/c/stream", "").until("start-step")[0].MessageID)

	for body, want := range map[string]string{
		`{"messages":[{}]}`:                                      "id, which names the chat, is empty",
		`{"id":"c"}`:                                             "messages is missing or has none",
		`{"id":"c","messages":[]}`:                               "messages is missing or has none",
		`{"id":"c","messages":[7]}`:                              "no UI message",
		`{"id":"c","messages":[{}],"trigger":"resume"}`:          "allowed are submit-message and regenerate-message",
		`{"id":"c","messages":[{"role":"user"}],"on_active":""}`: "on_active is empty",
	} {
		require.Contains(t, f.post(http.StatusBadRequest, "/api/chat", body).Detail, want, body)
	}
}

// TERM-03: what must not look like success does not.
func TestUIEnds(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	for name, c := range map[string]struct {
		end  subjects.End
		last string
	}{
		"done":       {done, "finish"},
		"unsaved":    {subjects.End{Reason: subjects.ReasonDone}, "finish"},
		"stopped":    {subjects.End{Reason: subjects.ReasonStopped, Persisted: true}, "abort"},
		"superseded": {subjects.End{Superseded: true, Reason: subjects.ReasonSuperseded}, "error"},
		"replaced":   {subjects.End{Superseded: true, Reason: subjects.ReasonDone}, "error"},
		"abandoned":  {subjects.End{Reason: subjects.ReasonAbandoned}, "error"},
		"failed":     {failed, "error"},
		"skipped":    {subjects.End{Reason: subjects.ReasonSkipped}, "error"},
	} {
		u := f.ui(http.MethodPost, "/api/chat", uiBody(name, "hi", ""))
		r := f.begin(u.runID())
		r.publish(runStarted, delta(1), runFinished)
		r.finish(c.end)
		all := u.until(c.last)
		require.Equal(t, "1 ", uiText(all), name)
		for _, before := range all[:len(all)-1] {
			require.NotContains(t, []string{"finish", "abort", "error"}, before.Type, name)
		}
		u.done()
		if !c.end.Persisted {
			require.Equal(t, "1 ", uiText(f.ui(http.MethodGet, "/api/chat/"+name+"/stream", "").until(c.last)), name)
		}
	}
}

// A client of the AI SDK takes the end of a response for success, and the loss of a connection
// for what to come back from.
func TestAUIStreamThatIsCutShortIsBrokenOff(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	u := f.ui(http.MethodPost, "/api/chat", uiBody("c", "hi", ""))
	f.begin(u.runID()).publish(runStarted, delta(1))
	u.until("text-delta")

	old, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(f.url, "http://"))
	require.NoError(t, err)
	defer old.Close()
	_, err = io.WriteString(old, "GET /api/chat/c/stream HTTP/1.0\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	f.eventually("rejoin_observers", 2)
	f.stop()
	_, err = u.next()
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	all, err := io.ReadAll(old)
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(string(all), `data: {"type":"error","errorText":"the connection was closed before the run ended"}`+"\n\n"), "over HTTP/1.0 nobody can tell: %s", all)
	f.drained()
}
