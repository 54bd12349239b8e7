package acp_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/agent"
)

func TestPermission(t *testing.T) {
	t.Parallel()
	a := start(t, scripted(t))
	var turns [][]string
	for outcome, want := range map[string]string{
		`{"outcome":"selected","optionId":"yes"}`: "yes",
		`{"outcome":"selected","optionId":"no"}`:  "no",
		`{"outcome":"cancelled"}`:                 "cancelled",
	} {
		tr := ask(t, a, "chat", "say Hello.\nask 1\nsay Bye.")
		q := tr.question()
		require.Equal(t, "acp.permission", q.q.Name)
		require.Equal(t, []string{"yes", "no"}, q.q.Options)
		q.reply(outcome)
		events := tr.end()
		require.NoError(t, tr.err)

		// What was said before is before the question, with the call it is about; what
		// comes of the answer is after it.
		asked := index(t, events, "acp.permission.request")
		require.Less(t, index(t, events, `"delta":"before 1"`), asked)
		require.Less(t, index(t, events, "TOOL_CALL_END"), asked)
		require.Less(t, asked, index(t, events, `"delta":"after 1"`), "what is said behind the question stays behind it")
		require.Less(t, index(t, events, "acp.tool_call", "Really risk 1"), asked)
		resolved := index(t, events, "acp.permission.resolved")
		require.Less(t, resolved, index(t, events, `"delta":"answer 1 `+want))
		require.Less(t, resolved, index(t, events, "TOOL_CALL_RESULT"))
		require.Equal(t, "Hello.before 1after 1answer 1 "+want+"Bye.", said(events))

		s := state(events)
		require.Empty(t, s.Unknown)
		require.Empty(t, s.Pending())
		turns = append(turns, events)
	}
	replay(t, turns...)
}

func TestUpdatesKeepTheirPlaceAroundAPermission(t *testing.T) {
	t.Parallel()
	tr := ask(t, start(t, scripted(t)), "chat", "burst 2000\nask 1\nburst 2000")
	q := tr.question()
	require.True(t, strings.HasPrefix(said(tr.soFar()), counted(2000)+"before 1"), "all that came before has been said")
	q.choose("yes")
	events := tr.end()
	require.True(t, counted(2000)+"before 1after 1answer 1 yes"+counted(2000) == said(events), "something is lost or out of order")
	require.True(t, counted(2000)+"before 1" == said(events[:index(t, events, "acp.permission.request")]))
	require.Less(t, index(t, events, "acp.permission.resolved"), index(t, events, `"delta":"answer 1 yes"`))
}

func TestThreePermissionsAtOnce(t *testing.T) {
	t.Parallel()
	tr := ask(t, start(t, scripted(t)), "chat", "ask 3\nsay Bye.")
	asked := []*question{tr.question(), tr.question(), tr.question()}
	prompts := slices.DeleteFunc(state(tr.soFar()).Pending(), func(who string) bool { return !strings.HasPrefix(who, "prompt ") })
	require.Len(t, prompts, 3)
	for _, i := range []int{2, 0, 1} {
		if strings.Contains(string(asked[i].q.Value), "asked-2") {
			asked[i].choose("no")
		} else {
			asked[i].choose("yes")
		}
	}
	events := tr.end()
	require.NoError(t, tr.err)
	for _, want := range []string{"answer 1 yes", "answer 2 no", "answer 3 yes"} {
		require.Equal(t, 1, strings.Count(said(events), want), said(events))
	}
	require.Empty(t, state(events).Pending())
	replay(t, events)
}

func TestAPP04_StopAnswersEveryOpenPermission(t *testing.T) {
	t.Parallel()
	a := start(t, scripted(t))
	var turns [][]string
	for _, n := range []string{"1", "3"} {
		tr := ask(t, a, "chat", "say Hello.\nask "+n+"\nsay Never.")
		for range n[0] - '0' {
			tr.question()
		}
		tr.stop(agent.ErrStopped)
		events := tr.end()
		require.Contains(t, last(events), `"outcome":{"type":"cancelled"}`)
		require.Empty(t, state(events).Pending())
		require.NotContains(t, said(events), "Never.")
		require.Equal(t, int(n[0]-'0'), strings.Count(strings.Join(events, "\n"), `"name":"acp.permission.resolved"`))
		turns = append(turns, events)

		// The agent got its answers: it is there for the next turn, as if nothing was.
		next := ask(t, a, "chat", "say Next.")
		turns = append(turns, next.end())
		require.NoError(t, next.err)
		require.Equal(t, "Next.", said(next.lines))
	}
	replay(t, turns...)
}

func TestForm(t *testing.T) {
	t.Parallel()
	a := start(t, scripted(t))
	var turns [][]string
	for outcome, want := range map[string]string{
		`{"action":"accept","content":{"name":"Ada","age":36}}`: `form accept {"name":"Ada","age":36}`,
		`{"action":"decline"}`: `form decline null`,
		`{"action":"cancel"}`:  `form cancel null`,
	} {
		tr := ask(t, a, "chat", "form Who are you?\nsay Bye.")
		q := tr.question()
		require.Equal(t, "acp.elicitation", q.q.Name)
		require.Contains(t, string(q.q.Value), `"requestedSchema":{"type":"object"`)
		require.Contains(t, string(q.q.Value), `"message":"Who are you?"`)
		q.reply(outcome)
		events := tr.end()
		require.NoError(t, tr.err)
		require.Equal(t, want+"Bye.", said(events))
		require.Empty(t, state(events).Pending())
		turns = append(turns, events)
	}
	stopped := ask(t, a, "chat", "form Who are you?\nsay Never.")
	stopped.question()
	stopped.stop(agent.ErrStopped)
	turns = append(turns, stopped.end())
	require.Empty(t, state(stopped.lines).Pending())
	require.Contains(t, last(stopped.lines), `"outcome":{"type":"cancelled"}`)
	replay(t, turns...)
}

// Whatever becomes of a request to visit a page, its address stays with the agent.
func TestLinkIsNeverInTheEvents(t *testing.T) {
	t.Parallel()
	tr := ask(t, start(t, scripted(t)), "chat", "update "+`{"sessionUpdate":"plan","entries":[]}`+"\nlink https://login.example/x?token=sesame")
	go func() {
		select {
		case q := <-tr.asked:
			q.reply(`{"action":"decline"}`)
		case <-tr.done:
		}
	}()
	for _, e := range tr.end()[1:] { // the first has the script itself
		require.NotContains(t, e, "sesame")
	}
}
