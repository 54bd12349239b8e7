package clients_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// page is useChat on a page.
type page struct {
	*script
	r    *rig
	chat string
}

// pageState is how a chat stands, and what it was told since the page was loaded.
type pageState struct {
	Messages []uiMessage
	Status   string
	Statuses []string
	Errors   []string
	Finishes []struct {
		IsAbort, IsDisconnect, IsError bool
		FinishReason                   string
	}
	Data []struct {
		Type string
		Data json.RawMessage
	}
}

func newPage(t *testing.T, r *rig, chat string) *page {
	t.Helper()
	return &page{start(t, "usechat.mjs", r.url, chat), r, chat}
}

// load loads the page, with the messages that its application has of the chat.
func (p *page) load(messages ...string) {
	p.t.Helper()
	p.tell(fmt.Sprintf(`mount {"messages":[%s]}`, strings.Join(messages, ",")))
	p.heard("fetched", nil)
}

func (p *page) state() (s pageState) {
	p.t.Helper()
	p.tell("state")
	p.heard("state", &s)
	return s
}

// message is one that an application has kept.
func message(id, role, text string) string {
	return fmt.Sprintf(`{"id":%q,"role":%q,"parts":[{"type":"text","text":%q}]}`, id, role, text)
}

// isWhole wants the producer's message, once.
func isWhole(t *testing.T, m uiMessage) {
	t.Helper()
	require.Equal(t, "assistant", m.Role)
	require.Equal(t, whole, m.text())
	require.Equal(t, thought, m.part("reasoning").Text)
	look := m.part("look")
	require.Equal(t, "output-available", look.State)
	require.JSONEq(t, `{"at":"it"}`, string(look.Input))
	require.JSONEq(t, `"seen"`, string(look.Output))
	require.Len(t, m.Parts, 4, "a step's start, reasoning, text and a tool call: %+v", m.Parts)
}

// DUP-01, UNI-03: the page is loaded again in mid-answer, where StrictMode resumes twice.
func TestDUP01_UseChatIsLoadedAgainInMidAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := newPage(t, r, "a/b c")
	p.load()
	p.tell(`send "hi"`)
	p.heard("half", nil)
	id := p.state().Messages[1].ID
	p.tell("unmount")
	p.load(message("u1", "user", "hi"))
	p.heard("half", nil)
	p.tell("resume 20") // and twenty times at once
	p.heard("fetched", nil)
	r.agent.goOn("a/b c")
	p.heard("ready", nil)
	s := p.state()
	require.Len(t, s.Messages, 2)
	isWhole(t, s.Messages[1])
	require.Equal(t, id, s.Messages[1].ID)
	require.Empty(t, s.Errors)
	require.Equal(t, "stop", s.Finishes[len(s.Finishes)-1].FinishReason)
	require.Equal(t, 1, r.runs("a/b c"))
	end := s.Data[len(s.Data)-1]
	require.Equal(t, "data-rejoin-end", end.Type)
	require.JSONEq(t, `{"persisted":true,"superseded":false,"reason":"done"}`, string(end.Data))
}

// The connection is lost in mid-answer: what was received stays, and the stock client comes back by itself when the page is
// shown.
func TestUseChatComesBackAfterACut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := newPage(t, r, "c")
	p.load()
	p.tell(`send "hi"`)
	p.heard("half", nil)
	r.proxy.Cut()
	p.heard("broken", nil)
	s := p.state()
	require.Equal(t, firstHalf+marker, s.Messages[1].text())
	require.True(t, s.Finishes[0].IsDisconnect)
	p.tell("show")
	p.heard("fetched", nil)
	r.agent.goOn("c")
	p.heard("ready", nil)
	s = p.state()
	require.Len(t, s.Messages, 2)
	isWhole(t, s.Messages[1])
	require.Equal(t, 1, r.runs("c"))
}

// A relay that goes away is a lost connection, too, and never success.
func TestUseChatComesBackAfterARelay(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := newPage(t, r, "c")
	p.load()
	p.tell(`send "hi"`)
	p.heard("half", nil)
	r.again()
	p.heard("broken", nil)
	p.tell("show")
	p.heard("fetched", nil)
	r.agent.goOn("c")
	p.heard("ready", nil)
	isWhole(t, p.state().Messages[1])
	require.Equal(t, 1, r.runs("c"))
}

// HANG-02: nothing to resume is nothing to see: no other status, nobody is told, and nobody asks again.
func TestHANG02_UseChatInAnIdleChat(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := newPage(t, r, "c")
	p.tell("mount")
	var got struct{ Status int }
	p.heard("fetched", &got)
	require.Equal(t, 204, got.Status)
	s := p.state()
	for _, status := range s.Statuses {
		require.Equal(t, "ready", status)
	}
	require.Empty(t, s.Messages)
	require.Empty(t, s.Errors)
	require.Empty(t, s.Finishes)
}

// HANG-02: the run is over and saved when the page comes back: 204, the client is left with half of it and was told of the lost
// connection. An application that names the run is given all of it.
func TestHANG02_UseChatComesBackWhenAllIsOver(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := newPage(t, r, "c")
	p.tell(`mount {"named":true}`)
	p.heard("fetched", nil)
	p.tell(`send "hi"`)
	p.heard("half", nil)
	r.proxy.Cut()
	p.heard("broken", nil)
	require.True(t, p.state().Finishes[0].IsDisconnect)
	r.agent.goOn("c")
	r.saved("c")
	resp, err := http.Get(r.relay.URL + "/api/chat/c/stream") //nolint:noctx // it answers at once
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 204, resp.StatusCode)
	p.tell("show")
	p.heard("ready", nil)
	s := p.state()
	require.Len(t, s.Messages, 2)
	isWhole(t, s.Messages[1])
	require.Equal(t, 1, r.runs("c"))
}

// DUP-02: a tool of the client's: its output makes the next run, whose answer is added to the same message. Tools of the agent's
// do not, or this would never end.
func TestDUP02_UseChatAndToolsOfTheClients(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := newPage(t, r, "c")
	p.tell(`mount {"tools":true}`)
	p.heard("fetched", nil)
	p.tell(`send "a tool"`)
	var call string
	p.heard("waits", &call)
	for p.state().Status != "ready" {
	}
	p.tell(fmt.Sprintf(`output {"tool":"confirm","toolCallId":%q,"output":"yes"}`, call))
	p.heard("fetched", nil)
	p.heard("ready", nil)
	s := p.state()
	require.Len(t, s.Messages, 2, "%+v", s.Messages)
	require.Equal(t, "it said yes", s.Messages[1].text())
	require.Equal(t, "output-available", s.Messages[1].part("confirm").State)
	require.Equal(t, 2, r.runs("c"))

	p.tell(`send "quick"`)
	p.heard("fetched", nil)
	p.heard("ready", nil)
	s = p.state()
	require.Len(t, s.Messages, 4)
	isWhole(t, s.Messages[3])
	require.Equal(t, 3, r.runs("c"))
}

// DUP-02: the last message kept is the one before: it is left alone.
func TestDUP02_UseChatResumesBehindAnEarlierAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	status, body := r.post("/chat/send", `{"chat_id":"c","input":{"text":"second"}}`)
	require.Equal(t, 202, status, body)
	p := newPage(t, r, "c")
	p.load(message("u1", "user", "first"), message("a1", "assistant", "the first answer"))
	p.heard("half", nil)
	r.agent.goOn("c")
	p.heard("ready", nil)
	s := p.state()
	require.Len(t, s.Messages, 3)
	require.Equal(t, "the first answer", s.Messages[1].text())
	require.Len(t, s.Messages[1].Parts, 1)
	isWhole(t, s.Messages[2])
	require.Contains(t, body, `"run_id":"`+s.Messages[2].ID+`"`)
}

// SEAM-05: the run ends while the page is loaded again, and before.
func TestSEAM05_UseChatAndARunThatEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := newPage(t, r, "c")
	p.load()
	p.tell(`send "hi"`)
	p.heard("half", nil)
	p.tell("unmount")
	r.agent.goOn("c")
	p.load(message("u1", "user", "hi"))
	s := p.state()
	for s.Status != "ready" {
		s = p.state()
	}
	require.Empty(t, s.Errors)
	if len(s.Messages) == 2 { // else it was saved by then, and is in the history
		isWhole(t, s.Messages[1])
	}
	// One that fails is no success, and is in the history of the chat as it is.
	p.tell(`send "quick fail"`)
	p.heard("broken", nil)
	s = p.state()
	require.Equal(t, firstHalf+marker, s.Messages[len(s.Messages)-1].text())
	require.Contains(t, s.Errors[0], errFail.Error())
	p.tell("unmount")
	p.load(message("u2", "user", "quick fail"))
	require.Equal(t, "ready", p.state().Status)
}

// Stopping in this client is leaving: what is said next takes the chat. Saying it again is another run.
func TestUseChatStopsAndGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := newPage(t, r, "c")
	p.load()
	p.tell(`send "hi"`)
	p.heard("half", nil)
	p.tell("stop")
	p.tell(`send "quick"`)
	p.heard("ready", nil)
	for s := p.state(); len(s.Messages) < 4 || s.Status != "ready"; s = p.state() {
		require.NotEqual(t, "error", s.Status, s.Errors)
	}
	s := p.state()
	require.Equal(t, firstHalf+marker, s.Messages[1].text())
	isWhole(t, s.Messages[3])
	p.tell("regenerate")
	p.heard("fetched", nil)
	p.heard("ready", nil)
	again := p.state()
	require.Len(t, again.Messages, 4)
	isWhole(t, again.Messages[3])
	require.NotEqual(t, s.Messages[3].ID, again.Messages[3].ID)
	require.Equal(t, 3, r.runs("c"))
	var input struct {
		Messages []struct{ Role, Content string }
	}
	require.NoError(t, json.Unmarshal(r.agent.asked("c")[2], &input))
	require.Len(t, input.Messages, 3)
	require.Equal(t, firstHalf+marker, input.Messages[1].Content)
	require.Equal(t, "quick", input.Messages[2].Content)
}

// A question is an approval; it is answered as any other, by the message's id, which is the run's.
func TestUseChatShowsAQuestionAsAnApproval(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := newPage(t, r, "c")
	p.load()
	p.tell(`send "quick ask"`)
	var asked struct{ ID, Message string }
	p.heard("asked", &asked)
	p.tell("unmount")
	p.load(message("u1", "user", "quick ask"))
	p.heard("asked", &asked)
	status, body := r.post("/chat/answer", fmt.Sprintf(`{"chat_id":"c","run_id":%q,"request_id":%q,"outcome":{"outcome":"selected","optionId":"allow"}}`, asked.Message, asked.ID))
	require.Equal(t, 200, status, body)
	p.heard("ready", nil)
	m := p.state().Messages[1]
	require.Equal(t, whole, m.text())
	require.True(t, *m.part("test.permission").Approval.Approved)
	require.Equal(t, "output-available", m.part("test.permission").State)
}
