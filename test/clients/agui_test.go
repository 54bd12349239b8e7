package clients_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// aguiRun is what an application is told of one run, and what it is left with.
type aguiRun struct {
	Outcome, Failure string
	Messages         []struct {
		ID, Role, Content string
		ToolCalls         []struct {
			Function struct{ Name, Arguments string }
		}
	}
}

func (a aguiRun) roles() string {
	var all []string
	for _, m := range a.Messages {
		all = append(all, m.Role)
	}
	return strings.Join(all, " ")
}

// isWhole wants the producer's messages from the nth on, once.
func (a aguiRun) isWhole(t *testing.T, n int) {
	t.Helper()
	require.Equal(t, "finished", a.Outcome, a.Failure)
	require.GreaterOrEqual(t, len(a.Messages), n+3, a.roles())
	require.Equal(t, "reasoning assistant tool", strings.Join(strings.Fields(a.roles())[n:], " "))
	require.Equal(t, thought, a.Messages[n].Content)
	require.Equal(t, whole, a.Messages[n+1].Content)
	require.Equal(t, `{"at":"it"}`, a.Messages[n+1].ToolCalls[0].Function.Arguments)
	require.Equal(t, "seen", a.Messages[n+2].Content)
}

// lines are the stock clients of both lines of AG-UI.
var lines = map[string]string{"1.0": "@ag-ui/client", "0.0": "agui-0"}

// The connection is lost in mid-answer, and the application asks again, with what it has: it is left with the
// producer's messages, once, of the one run that there was.
func TestHttpAgentIsCutOffAndAsksAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for name, module := range lines {
		t.Run(name, func(t *testing.T) {
			chat := "chat-" + name
			s := start(t, "agui.mjs", module, r.url+"/agui/"+chat, "hi")
			s.heard("half", nil)
			r.proxy.Cut()
			var got aguiRun
			s.heard("ran", &got)
			require.Equal(t, "rejected", got.Outcome, "a lost connection is no success")
			require.Equal(t, firstHalf+marker, got.Messages[len(got.Messages)-1].Content)
			s.tell("run")
			s.heard("half", nil)
			r.agent.goOn(chat)
			s.heard("ran", &got)
			got.isWhole(t, 1)
			require.Equal(t, 1, r.runs(chat))

			// Another message is another run.
			s.tell(`add {"id":"u2","role":"user","content":"quick"}`)
			s.tell("run")
			s.heard("ran", &got)
			got.isWhole(t, 5)
			require.Equal(t, 2, r.runs(chat))
			s.tell(`run {"forwardedProps":{"rejoin":{"kind":"retry"}}}`)
			s.heard("ran", &got)
			require.Equal(t, "finished", got.Outcome, got.Failure)
			require.Equal(t, 3, r.runs(chat))
		})
	}
}

// A relay that goes away in mid-answer is an error, and asking again goes on.
func TestHttpAgentAndARelayThatGoesAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := start(t, "agui.mjs", lines["1.0"], r.url+"/agui/c", "hi")
	s.heard("half", nil)
	r.again()
	var got aguiRun
	s.heard("ran", &got)
	require.Equal(t, "error", got.Outcome)
	s.tell("run")
	s.heard("half", nil)
	r.agent.goOn("c")
	s.heard("ran", &got)
	got.isWhole(t, 1)
	require.Equal(t, 1, r.runs("c"))
}

// A run that failed is an error; asking again is another run. So is one that a newer one replaces, and that
// one is not taken back.
func TestHttpAgentAndRunsThatFail(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := start(t, "agui.mjs", lines["1.0"], r.url+"/agui/c", "quick fail")
	var got aguiRun
	s.heard("ran", &got)
	require.Equal(t, "error", got.Outcome)
	require.Contains(t, got.Failure, errFail.Error())
	s.tell("run")
	s.heard("ran", &got)
	require.Equal(t, "error", got.Outcome)
	require.Equal(t, 2, r.runs("c"))

	s.tell(`add {"id":"u2","role":"user","content":"slow"}`)
	s.tell("run")
	s.heard("half", nil)
	status, body := r.post("/chat/send", `{"chat_id":"c","input":{"text":"quick"},"on_active":"supersede"}`)
	require.Equal(t, 202, status, body)
	s.heard("ran", &got)
	require.Equal(t, "error", got.Outcome)
	require.Contains(t, got.Failure, "newer run")
	s.tell("run")
	s.heard("ran", &got)
	require.Equal(t, "error", got.Outcome)
	require.Contains(t, got.Failure, "newer run")
	r.saved("c") // the newer one may not have come to the agent before
	require.Equal(t, 4, r.runs("c"))
}
