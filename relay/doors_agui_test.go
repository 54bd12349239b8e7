package relay_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/turns"
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
