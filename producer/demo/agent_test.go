package demo_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/demo"
)

// turn is a worker's side of a turn.
type turn struct {
	req      agent.Request
	steering chan json.RawMessage
	answer   func(q agent.Question) string // the outcome; nil waits for ctx

	mu     sync.Mutex
	events []string
	asked  []agent.Question
}

func newTurn(input string) *turn {
	return &turn{
		req:      agent.Request{ChatID: "chat", RunID: "0run", Input: json.RawMessage(input)},
		steering: make(chan json.RawMessage, 8),
		answer: func(q agent.Question) string {
			if q.Name == "demo.form" {
				return `{"action":"accept","content":{"colour":"red", "count":3}}`
			}
			return `{"outcome":"selected","optionId":"allow"}`
		},
	}
}

func saying(text string) *turn {
	raw, _ := json.Marshal(map[string]string{"text": text})
	return newTurn(string(raw))
}

func (t *turn) Request() *agent.Request          { return &t.req }
func (t *turn) Steering() <-chan json.RawMessage { return t.steering }

func (t *turn) Publish(_ context.Context, event []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, string(event))
	return nil
}

func (t *turn) Ask(ctx context.Context, q agent.Question) (agent.Answer, error) {
	t.mu.Lock()
	t.asked = append(t.asked, q)
	t.mu.Unlock()
	if t.answer == nil {
		<-ctx.Done()
		return agent.Answer{}, context.Cause(ctx)
	}
	outcome := json.RawMessage(t.answer(q))
	return agent.Answer{RequestID: "0run:1", Status: agent.StatusOf(outcome), Outcome: outcome}, nil
}

// said is the text of the answer so far.
func (t *turn) said() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var text strings.Builder
	for _, raw := range t.events {
		var e struct{ Type, Delta string }
		_ = json.Unmarshal([]byte(raw), &e)
		if e.Type == string(agui.TextMessageContent) {
			text.WriteString(e.Delta)
		}
	}
	return text.String()
}

// open follows the events by the rules of a strict client.
func (t *turn) open(test *testing.T) *agui.Open {
	var o agui.Open
	var e agui.Event
	for _, raw := range t.events {
		require.NoError(test, agui.Scan([]byte(raw), &e))
		o.Add(&e)
	}
	return &o
}

func run(t *turn) error { return demo.NewAgent(demo.AgentConfig{}).Run(context.Background(), t) }

func TestAnAnswerHasEverything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turn := saying(`Hi, "friend"`)
		began := time.Now()
		require.NoError(t, run(turn))
		require.InDelta(t, 5, time.Since(began).Seconds(), 3)
		require.Equal(t, `{"type":"RUN_STARTED","threadId":"chat","runId":"0run","input":{"threadId":"chat","runId":"0run","state":{},"messages":[{"id":"user-0run","role":"user","content":"Hi, \"friend\""}],"tools":[],"context":[],"forwardedProps":{},"protocolVersion":"1.0"}}`, turn.events[0])
		all := strings.Join(turn.events, "\n")
		for _, typ := range []agui.Type{agui.ReasoningMessageContent, agui.ToolCallArgs, agui.ToolCallResult, agui.TextMessageContent} {
			require.Contains(t, all, `"type":"`+string(typ)+`"`)
		}
		require.Contains(t, turn.said(), `You said “Hi, "friend"”. `)
		require.Contains(t, turn.said(), "You allowed it")
		require.Len(t, turn.asked, 1)
		require.Equal(t, "demo.permission", turn.asked[0].Name)
		require.Equal(t, []string{"allow", "deny"}, turn.asked[0].Options)
		o := turn.open(t)
		require.Equal(t, agui.RunFinished, o.Terminal())

		again := saying(`Hi, "friend"`)
		require.NoError(t, run(again))
		require.Equal(t, turn.events, again.events)
	})
}

// The question comes in the middle of the answer: there are words before and after.
func TestTheQuestionIsInTheMiddle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turn := saying("hi")
		before := ""
		turn.answer = func(agent.Question) string { before = turn.said(); return `{"outcome":"selected","optionId":"deny"}` }
		require.NoError(t, run(turn))
		require.Contains(t, before, "You said")
		require.Contains(t, turn.said()[len(before):], "You denied it")
		require.Greater(t, len(turn.said()), len(before)+100)
	})
}

func TestWordsChangeTheTurn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text    string
		asked   []string
		contain string
		err     error
		least   time.Duration
		most    time.Duration
	}{
		{"", []string{"demo.permission"}, "You said nothing", nil, time.Second, 20 * time.Second},
		{"a form, please", []string{"demo.permission", "demo.form"}, `You filled in “{"colour":"red","count":3}”`, nil, time.Second, 20 * time.Second},
		{"Quick!", nil, "You said “Quick!”", nil, 0, 0},
		{"quick form", []string{"demo.form"}, "You filled in", nil, 0, 0},
		{"quick approval", []string{"demo.permission"}, "You allowed", nil, 0, 0},
		{"long", nil, "You said “long”", nil, 45 * time.Second, 75 * time.Second},
		{"quick tool", nil, "You said", nil, time.Minute, time.Minute},
		{"stubborn", nil, "You said", nil, time.Minute, 80 * time.Second},
		{"error", nil, "You said", demo.ErrAsked, time.Second, 20 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			turn := saying(c.text)
			began := time.Now()
			require.ErrorIs(t, run(turn), c.err, c.text)
			require.GreaterOrEqual(t, time.Since(began), c.least, c.text)
			require.LessOrEqual(t, time.Since(began), c.most, c.text)
			require.Contains(t, turn.said(), c.contain)
			var names []string
			for _, q := range turn.asked {
				names = append(names, q.Name)
			}
			require.Equal(t, c.asked, names, c.text)
			require.Equal(t, c.err == nil, turn.open(t).Terminal() == agui.RunFinished, c.text)
		})
	}
}

func TestOutcomesAreSaid(t *testing.T) {
	t.Parallel()
	for outcome, words := range map[string]string{
		`{"outcome":"cancelled"}`:             "Nobody decided",
		`{"action":"decline"}`:                "You declined",
		`{"action":"cancel"}`:                 "put away",
		`{"action":"accept"}`:                 "sent the form empty",
		`{"action":"accept","content":{}}`:    "You filled in “{}”",
		`{"action":"accept","content":[1,2]}`: "You filled in",
	} {
		turn := saying("quick form approval")
		turn.answer = func(agent.Question) string { return outcome }
		require.NoError(t, run(turn))
		require.Contains(t, turn.said(), words, outcome)
	}
}

func TestAMessageMeanwhileIsAnswered(t *testing.T) {
	t.Parallel()
	turn := saying("quick")
	turn.steering <- json.RawMessage(`{"text":"and you?"}`)
	turn.steering <- json.RawMessage(`{"messages":[{"id":"1","role":"user","content":[{"type":"text","text":"well"}]}]}`)
	require.NoError(t, run(turn))
	require.Contains(t, turn.said(), "Meanwhile you said “and you?”")
	require.Contains(t, turn.said(), "Meanwhile you said “well”")
	require.True(t, demo.NewAgent(demo.AgentConfig{}).TakesSteering())
}

// A client's own input names the thread and the run.
func TestAClientsOwnInputIsSaidBack(t *testing.T) {
	t.Parallel()
	turn := newTurn(`{"threadId":"t1","runId":"r1","messages":[{"id":"u","role":"user","content":"quick"}]}`)
	require.NoError(t, run(turn))
	require.Equal(t, `{"type":"RUN_STARTED","threadId":"t1","runId":"r1","input":`+string(turn.req.Input)+`}`, turn.events[0])
	require.Equal(t, `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}`, turn.events[len(turn.events)-1])
}

// Wherever the turn is, stopping it ends it at once; only what is stubborn takes as
// long as it takes, and no longer.
func TestStopEndsATurn(t *testing.T) {
	t.Parallel()
	for text, after := range map[string][]time.Duration{
		"hi":       {0, time.Second, 4 * time.Second, time.Hour},
		"form":     {time.Hour},
		"long":     {0, 30 * time.Second},
		"tool":     {3 * time.Second, 30 * time.Second},
		"stubborn": {30 * time.Second},
	} {
		for _, d := range after {
			synctest.Test(t, func(t *testing.T) {
				turn := saying(text)
				turn.answer = nil
				ctx, cancel := context.WithCancelCause(t.Context())
				began := time.Now()
				time.AfterFunc(d, func() { cancel(agent.ErrStopped) })
				require.ErrorIs(t, demo.NewAgent(demo.AgentConfig{}).Run(ctx, turn), agent.ErrStopped)
				if text == "stubborn" {
					require.Greater(t, time.Since(began), d)
					require.Less(t, time.Since(began), 80*time.Second)
					return
				}
				require.Equal(t, d, time.Since(began), text)
			})
		}
	}
}
