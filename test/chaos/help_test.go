package chaos_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// world is a broker and two relays, and a connection of the test's own that nothing is
// done to but what is done to the broker.
type world struct {
	*harness.Fabric
	relays [2]*harness.Relay
	own    *harness.Link
}

func newWorld(t *testing.T, cfg harness.Config) *world {
	t.Helper()
	w := &world{Fabric: harness.New(t, cfg)}
	for i := range w.relays {
		w.relays[i] = w.Relay(harness.RelayConfig{})
	}
	w.own = w.Connect()
	return w
}

func (w *world) within() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	w.Cleanup(cancel)
	return ctx
}

// reply is what a request was answered with; Status is 0 where there was no answer.
type reply struct {
	Status    int             `json:"-"`
	Body      string          `json:"-"`
	Code      string          `json:"code"`
	RunID     subjects.RunID  `json:"run_id"`
	State     string          `json:"state"`
	Outcome   json.RawMessage `json:"outcome"`
	Questions []struct {
		RequestID string `json:"request_id"`
	} `json:"questions"`
}

// ask sends one request. It may be called from anywhere, and no answer is an answer.
func (w *world) ask(relay int, method, path, body string) (a reply) {
	c, err := harness.Ask(context.Background(), method, w.relays[relay].URL+path, body)
	if err != nil {
		return a
	}
	if a.Body, err = c.Rest(); err != nil {
		return a
	}
	_ = json.Unmarshal([]byte(a.Body), &a) // what is no JSON has no fields
	a.Status = c.Status
	return a
}

type fields map[string]any

func (w *world) post(relay int, path string, body fields) reply {
	raw, err := json.Marshal(body)
	if err != nil {
		panic(err) // a test's own strings
	}
	return w.ask(relay, http.MethodPost, path, string(raw))
}

func text(s string) fields { return fields{"text": s} }

// send wants a message to be taken.
func (w *world) send(chat, said string, on runs.OnActive) subjects.RunID {
	w.Helper()
	a := w.post(0, "/chat/send", fields{"chat_id": chat, "input": text(said), "on_active": on})
	require.Equal(w, http.StatusAccepted, a.Status, a.Body)
	return a.RunID
}

const (
	yes = `{"outcome":"selected","optionId":"yes"}`
	no  = `{"outcome":"selected","optionId":"no"}`
)

func (w *world) answer(relay int, chat string, id subjects.RunID, request, outcome string) reply {
	return w.post(relay, "/chat/answer", fields{"chat_id": chat, "run_id": id, "request_id": request, "outcome": json.RawMessage(outcome)})
}

// question waits until a run asks something, and gives the question's id.
func (w *world) question(id subjects.RunID) (request string) {
	w.Helper()
	harness.Eventually(w, "run "+string(id)+" asks", func() bool {
		e, err := w.own.Store.Entry(context.Background(), id)
		if err == nil && len(e.Questions) > 0 {
			request = e.Questions[0].RequestID
		}
		return request != ""
	})
	return request
}

// ended waits until a run's entry says how it ended.
func (w *world) ended(id subjects.RunID) (end subjects.End) {
	w.Helper()
	harness.Eventually(w, "run "+string(id)+" ends", func() bool {
		e, err := w.own.Store.Entry(context.Background(), id)
		if err != nil || e.End == nil {
			return false
		}
		end = *e.End
		return true
	})
	return end
}

func chatPath(chat, rest string) string { return "/chat/" + url.PathEscape(chat) + rest }
