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
	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/subjects"
)

// runInput is what a stock AG-UI client posts; more are its messages after the user's, each with a comma before it.
func runInput(runID, say, more string) string {
	return `{"threadId":"theirs","runId":"` + runID + `","state":{},"messages":[{"id":"u-` + say + `","role":"user","content":"` + say + `"}` + more +
		`],"tools":[],"context":[],"forwardedProps":{},"protocolVersion":"1.0"}`
}

// agui opens POST /agui/{chat_id} and wants a stream.
func (f *fabric) agui(chat, body string) *observer {
	f.t.Helper()
	return f.open(http.MethodPost, "/agui/"+chat, body)
}

func TestAGUIBringsAMessageAndItsRunsStream(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	body := runInput("r1", "hi", "")
	o := f.agui("a%2Fb", body)
	turn := f.turn(o.runID())
	require.Equal(t, "a/b", turn.ChatID, "the path names the chat, whatever threadId says")
	require.Equal(t, body, string(turn.Input), "byte for byte")
	require.Equal(t, "send", turn.Kind)
	r := f.begin(o.runID())
	r.publish(runStarted, delta(1), runFinished)
	require.Equal(t, []string{runStarted, delta(1), runFinished}, o.events(3))
	r.finish(done)
	o.closed()
}

// SEND-01: a client that was cut off asks again, with what it has of the answer and another
// runId. It gets the same run, from its beginning.
func TestSEND01_AskingAgainIsTheSameRun(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	o := f.agui("c", runInput("r1", "hi", ""))
	r := f.begin(o.runID())
	r.publish(runStarted, delta(1))
	o.events(2)
	o.close()
	again := f.agui("c", runInput("r2", "hi", `,{"id":"m","role":"assistant","content":"1 "}`))
	require.Equal(t, r.id(), again.runID())
	// What it has is taken back first, or it would add the same to it.
	require.Equal(t, []string{runStarted, `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u-hi","role":"user","content":"hi"}]}`, delta(1)}, again.events(3))
	r.publish(runFinished)
	again.events(1)
	r.finish(done)
	again.closed()
	// It is over and saved: it is still the answer.
	again = f.agui("c", runInput("r3", "hi", ""))
	require.Equal(t, r.id(), again.runID())
	require.Len(t, again.events(3), 3)
	again.closed()
	// What says something new is another message: a tool's result, or the answer to an interrupt.
	tool := f.agui("c", runInput("r4", "hi", `,{"id":"m","role":"assistant"},{"id":"t","role":"tool","toolCallId":"c1","content":"4"}`))
	require.NotEqual(t, r.id(), tool.runID())
	resume := strings.Replace(runInput("r5", "hi", ""), `"tools"`, `"resume":[{"interruptId":"i","status":"resolved"}],"tools"`, 1)
	require.NotEqual(t, r.id(), f.agui("c", resume).runID())
	// So is one that says that it is.
	retry := strings.Replace(runInput("r6", "hi", ""), `"forwardedProps":{}`, `"forwardedProps":{"rejoin":{"kind":"retry"}}`, 1)
	one, two := f.agui("c", retry), f.agui("c", retry)
	require.NotEqual(t, one.runID(), two.runID())
	require.Equal(t, "retry", f.view(two.runID()).Kind)
}

// A tool's result that the agent brought itself is a part of its answer, though a stock client has it among its messages as it has those of
// the tools that it runs: whoever was cut off behind it gets the same run, while it goes on and once it is over.
func TestSEND01_TheAgentsOwnToolResultsSayNothingNew(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	const result = `{"type":"TOOL_CALL_RESULT","messageId":"t","toolCallId":"c1","content":"4"}`
	o := f.agui("c", runInput("r1", "hi", ""))
	r := f.begin(o.runID())
	r.publish(runStarted, `{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"x"}`, `{"type":"TOOL_CALL_END","toolCallId":"c1"}`, result)
	o.events(4)
	o.close()
	const has = `,{"id":"m","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"x","arguments":""}}]},{"id":"t","role":"tool","toolCallId":"c1","content":"4"}`
	again := f.agui("c", runInput("r2", "hi", has))
	require.Equal(t, r.id(), again.runID())
	require.Equal(t, `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u-hi","role":"user","content":"hi"}]}`, again.events(2)[1], "what it has is taken back")
	r.publish(runFinished)
	r.finish(done)
	require.Equal(t, r.id(), f.agui("c", runInput("r3", "hi", has)).runID(), "over and saved")
	// The result of another call is the client's own.
	own := f.agui("c", runInput("r4", "hi", has+`,{"id":"m2","role":"assistant"},{"id":"t2","role":"tool","toolCallId":"c2","content":"5"}`))
	require.NotEqual(t, r.id(), own.runID())
}

// A run that failed is no answer; one that another has replaced does not take the chat back.
func TestAskingAgainAfterAFailureIsAnotherRun(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	body := runInput("r", "hi", "")
	seen := map[string]bool{}
	for _, reason := range []subjects.Reason{subjects.ReasonError, subjects.ReasonAbandoned, subjects.ReasonStopped, subjects.ReasonSaveFailed} {
		o := f.agui("c", body)
		require.False(t, seen[o.runID()], "before %s", reason)
		seen[o.runID()] = true
		f.begin(o.runID()).finish(subjects.End{Reason: reason})
	}
	o := f.agui("c", body)
	require.False(t, seen[o.runID()])
	newer := f.agui("c", runInput("r", "newer", ""))
	f.begin(newer.runID())
	again := f.agui("c", body)
	require.Equal(t, o.runID(), again.runID())
	again.errored("superseded")
	again.closed()
	require.Nil(t, f.view(newer.runID()).End)
}

// These clients can leave a run and not stop it, so that what they ask next takes the chat.
func TestWhatIsAskedNextTakesTheChat(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	first := f.agui("c", runInput("r", "one", ""))
	first.close()
	second := f.agui("c", runInput("r", "two", ""))
	require.NotEqual(t, first.runID(), second.runID())
	require.True(t, f.view(first.runID()).End.Superseded)
	with := func(on string) string {
		return strings.Replace(runInput("r", on, ""), `"forwardedProps":{}`, `"forwardedProps":{"rejoin":{"on_active":"`+on+`"}}`, 1)
	}
	require.Equal(t, second.runID(), f.post(http.StatusConflict, "/agui/c", with("reject")).RunID)
	behind := f.agui("c", with("queue"))
	require.Nil(t, f.view(second.runID()).End)
	require.Equal(t, "queued", f.view(behind.runID()).State)
	require.Contains(t, f.post(http.StatusBadRequest, "/agui/c", with("kill")).Detail, "on_active")

	// Who asks nothing wants to see what there is.
	const nothing = `{"threadId":"c","runId":"r","messages":[{"id":"a","role":"assistant","content":"before"}]}`
	require.Equal(t, second.runID(), f.agui("c", nothing).runID())
	idle := f.agui("idle", nothing)
	require.Equal(t, "queued", f.view(idle.runID()).State)
}

func TestAGUIBodiesThatAreRefused(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{MaxInput: 10_000}, nil)
	for body, want := range map[string]string{
		``:                 "the body is empty",
		`[]`:               "no object",
		`{"text":"x"}`:     "messages is missing",
		`{"messages":"x"}`: "messages must be",
		`{"messages":[],"forwardedProps":{"rejoin":{"kind":7}}}`:                  "kind must be a string",
		`{"messages":[],"forwardedProps":{"rejoin":{"on_active":""}}}`:            "on_active is empty",
		`{"messages":[],"forwardedProps":{"rejoin":{"kind":"` + long(65) + `"}}}`: "kind has 65 bytes",
	} {
		require.Contains(t, f.post(http.StatusBadRequest, "/agui/c", body).Detail, want, body)
	}
	f.post(http.StatusRequestEntityTooLarge, "/agui/c", `{"messages":["`+long(10_000)+`"]}`)
	f.post(http.StatusBadRequest, "/agui/"+long(257), runInput("r", "x", ""))
	f.agui("c", `{"messages":[7,null,"x"],"forwardedProps":[1]}`) // for the agent to judge
}

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

func TestDoorsHaveTheLimitsOfTheirNeighbours(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, func(c *relay.Config) { c.MaxObservers = 1 })
	f.start("busy").deltas(1)
	o := f.live(`{"chat_id":"busy","protocol":1}`)
	o.next()
	for path, body := range map[string]string{"/agui/c": runInput("r", "x", ""), "/api/chat": uiBody("c", "x", "")} {
		a := f.do(http.MethodPost, path, body)
		require.Equal(t, http.StatusServiceUnavailable, a.status)
		require.Equal(t, "too_many_requests", a.problem(t).Code)
	}
	require.Equal(t, http.StatusServiceUnavailable, f.do(http.MethodGet, "/api/chat/busy/stream", "").status)
	p, err := f.store.Pointer(t.Context(), "", "c")
	require.NoError(t, err)
	require.Empty(t, p.RunID, "nothing was sent")
	o.close()
}

// The kill switch holds for them, and nothing is sent meanwhile.
func TestDoorsAndTheSwitch(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, switched(t, nil))
	u := f.ui(http.MethodPost, "/api/chat", uiBody("c", "hi", ""))
	f.begin(u.runID()).publish(runStarted)
	u.until("start-step")
	f.flip(`{"percent":100}`)
	_, err := u.next()
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, "switched_off", f.do(http.MethodGet, "/api/chat/c/stream", "").problem(t).Code)
	require.Equal(t, "switched_off", f.do(http.MethodPost, "/api/chat", uiBody("d", "hi", "")).problem(t).Code)
	require.Equal(t, "switched_off", f.do(http.MethodPost, "/agui/d", runInput("r", "hi", "")).problem(t).Code)
	p, err := f.store.Pointer(t.Context(), "", "d")
	require.NoError(t, err)
	require.Empty(t, p.RunID)
}
