package turns_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// rig is a broker and two relays. Clients know nothing else.
type rig struct {
	*harness.Fabric
	relays  [2]*harness.Relay
	janitor runs.JanitorConfig
}

func newRig(t *testing.T, cfg harness.Config, janitor ...runs.JanitorConfig) *rig {
	t.Helper()
	r := &rig{Fabric: harness.New(t, cfg)}
	if len(janitor) > 0 {
		r.janitor = janitor[0]
	}
	for i := range r.relays {
		r.relays[i] = r.Relay(harness.RelayConfig{Janitor: r.janitor, Addr: harness.FreeAddr(t)})
	}
	return r
}

// restart stops a relay and puts another in its place.
func (r *rig) restart(relay int) {
	r.Helper()
	r.relays[relay].Stop()
	r.relays[relay] = r.Relay(harness.RelayConfig{Janitor: r.janitor, Addr: strings.TrimPrefix(r.relays[relay].URL, "http://")})
}

func (r *rig) within() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	r.Cleanup(cancel)
	return ctx
}

// reply is what a request was answered with.
type reply struct {
	Status    int             `json:"-"`
	Body      string          `json:"-"`
	Code      string          `json:"code"`
	RunID     subjects.RunID  `json:"run_id"`
	State     string          `json:"state"`
	Kind      string          `json:"kind"`
	Seq       uint64          `json:"seq"`
	End       *subjects.End   `json:"end"`
	Reason    subjects.Reason `json:"reason"`
	Outcome   json.RawMessage `json:"outcome"`
	Events    json.RawMessage `json:"events"`
	Questions []struct {
		RequestID string `json:"request_id"`
	} `json:"questions"`
	Turns []savedTurn `json:"turns"`
}

// savedTurn is a turn of the history.
type savedTurn struct {
	RunID  subjects.RunID  `json:"run_id"`
	Kind   string          `json:"kind"`
	Input  json.RawMessage `json:"input"`
	Events json.RawMessage `json:"events"`
	Reason subjects.Reason `json:"reason"`
}

// do sends one request. It may be called from anywhere.
func (r *rig) do(relay int, method, path, body string) (a reply) {
	c, err := harness.Ask(context.Background(), method, r.relays[relay].URL+path, body)
	if err != nil {
		r.Errorf("%s %s: %v", method, path, err)
		return a
	}
	if a.Body, err = c.Rest(); err != nil {
		r.Errorf("%s %s: %v", method, path, err)
	}
	if err := json.Unmarshal([]byte(a.Body), &a); err != nil && a.Body != "" {
		r.Errorf("%s %s: %v: %s", method, path, err, a.Body)
	}
	a.Status = c.Status
	return a
}

func (r *rig) post(relay int, path string, fields ...any) reply {
	body := map[string]any{}
	for i := 0; i < len(fields); i += 2 {
		body[fields[i].(string)] = fields[i+1]
	}
	raw, err := json.Marshal(body)
	if err != nil {
		panic(err) // a test's own strings
	}
	return r.do(relay, http.MethodPost, path, string(raw))
}

func text(s string) map[string]string { return map[string]string{"text": s} }

// send wants a message to be taken.
func (r *rig) send(chat, said string, more ...any) subjects.RunID {
	r.Helper()
	a := r.post(0, "/chat/send", append([]any{"chat_id", chat, "input", text(said)}, more...)...)
	require.Equal(r, http.StatusAccepted, a.Status, a.Body)
	return a.RunID
}

func (r *rig) stop(relay int, chat string, id subjects.RunID) reply {
	return r.post(relay, "/chat/stop", "chat_id", chat, "run_id", id)
}

const (
	yes = `{"outcome":"selected","optionId":"yes"}`
	no  = `{"outcome":"selected","optionId":"no"}`
)

func (r *rig) answer(relay int, chat string, id subjects.RunID, request, outcome string) reply {
	return r.post(relay, "/chat/answer", "chat_id", chat, "run_id", id, "request_id", request, "outcome", json.RawMessage(outcome))
}

// view is GET /runs/{id}.
func (r *rig) view(id subjects.RunID) reply {
	r.Helper()
	a := r.do(1, http.MethodGet, "/runs/"+string(id), "")
	require.Equal(r, http.StatusOK, a.Status, a.Body)
	return a
}

// state waits until a run is in it: a question that is closed shows so a moment later.
func (r *rig) state(id subjects.RunID, want string) {
	r.Helper()
	harness.Eventually(r, "run "+string(id)+" is "+want, func() bool { return r.view(id).State == want })
}

func (r *rig) history(chat string) []savedTurn {
	r.Helper()
	a := r.do(1, http.MethodGet, "/chat/"+chat+"/history?limit=100", "")
	require.Equal(r, http.StatusOK, a.Status, a.Body)
	return a.Turns
}

// saved is the one turn of the history that a run has made; nil for none.
func (r *rig) saved(chat string, id subjects.RunID) (found *savedTurn) {
	r.Helper()
	for _, t := range r.history(chat) {
		if t.RunID == id {
			require.Nil(r, found, "saved once")
			found = &t
		}
	}
	return found
}

// snapshot is what GET /runs/{id}/snapshot comes to.
func (r *rig) snapshot(relay int, id subjects.RunID) *harness.State {
	r.Helper()
	a := r.do(relay, http.MethodGet, "/runs/"+string(id)+"/snapshot", "")
	require.Equal(r, http.StatusOK, a.Status, a.Body)
	return r.reduce(a.Events)
}

func (r *rig) reduce(array json.RawMessage) *harness.State {
	r.Helper()
	var events []json.RawMessage
	require.NoError(r, json.Unmarshal(array, &events))
	s := harness.Reduce(nil)
	for _, e := range events {
		s.Apply(e)
	}
	return s
}

// page is a client that watches a run, for as long as one connection lasts.
type page struct {
	*harness.Seen
	r    *rig
	conn *harness.Conn
}

// open opens POST /chat/live, with more fields and their values in turn.
func (r *rig) open(relay int, chat string, more ...any) *page {
	r.Helper()
	c, err := harness.Ask(r.within(), http.MethodPost, r.relays[relay].URL+"/chat/live", harness.Live(chat, more...))
	require.NoError(r, err)
	r.Cleanup(c.Close)
	require.Equal(r, http.StatusOK, c.Status)
	return &page{Seen: &harness.Seen{State: harness.Reduce(nil)}, r: r, conn: c}
}

func (p *page) until(met func(*harness.Seen) bool) *page {
	p.r.Helper()
	require.NoError(p.r, p.More(p.r.within(), p.conn, met))
	return p
}

// upTo reads up to a seq.
func (p *page) upTo(seq uint64) *page {
	p.r.Helper()
	if p.Seq < seq {
		p.until(func(s *harness.Seen) bool { return s.Seq >= seq })
	}
	return p
}

// toEnd reads to the run's end.
func (p *page) toEnd() *harness.Seen {
	p.r.Helper()
	p.until(nil)
	return p.Seen
}

// watch reads a run to its end.
func (r *rig) watch(relay int, chat string, id subjects.RunID) *harness.Seen {
	r.Helper()
	return r.open(relay, chat, "run_id", id).toEnd()
}

// follow watches a run with a client that keeps coming back; the function waits for the
// end.
func (r *rig) follow(relay int, chat string, id subjects.RunID) (toEnd func() *harness.Seen) {
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	var seen *harness.Seen
	var err error
	var wg sync.WaitGroup
	wg.Go(func() {
		stream := (&consumer.Client{BaseURL: r.relays[relay].URL, MaxAttempts: 100}).Watch(ctx, consumer.Watch{ChatID: chat, RunID: id})
		defer stream.Close()
		seen, err = harness.See(ctx, stream, nil)
	})
	r.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return func() *harness.Seen {
		r.Helper()
		wg.Wait()
		require.NoError(r, err)
		return seen
	}
}

// resume is a client that has the first events of a run and comes back for the others.
// had is what somebody has seen who was there from the beginning.
func (r *rig) resume(relay int, chat string, had *harness.Seen, after uint64) *page {
	r.Helper()
	require.GreaterOrEqual(r, uint64(len(had.Events)), after)
	p := r.open(relay, chat, "run_id", had.RunID, "after_seq", after)
	p.RunID, p.Seq = had.RunID, after
	p.Events, p.Types = slices.Clone(had.Events[:after]), slices.Clone(had.Types[:after])
	p.State = harness.Reduce([]byte(strings.Join(p.Events, "\n")))
	return p
}

// sameEnd wants two who watched a run to hold the same.
func sameEnd(r *rig, want, got *harness.Seen) {
	r.Helper()
	require.Equal(r, want.End, got.End)
	require.Equal(r, want.Seq, got.Seq)
	require.Equal(r, want.State, got.State)
}

// terminals counts the terminal events that were seen.
func terminals(s *harness.Seen) int {
	n := 0
	for _, t := range s.Types {
		if t == "RUN_FINISHED" || t == "RUN_ERROR" {
			n++
		}
	}
	return n
}

// says is what a message says, in a state.
func says(s *harness.State, message string) string {
	var b strings.Builder
	for _, u := range s.Text["text "+message] {
		b.WriteRune(rune(u)) // these tests speak ASCII
	}
	return b.String()
}

// closing is the one event that closes a question.
func closing(r *rig, s *harness.Seen, request string) string {
	r.Helper()
	all := slices.DeleteFunc(slices.Clone(s.Events), func(e string) bool {
		return !strings.Contains(e, `.resolved"`) || !strings.Contains(e, fmt.Sprintf("%q", request))
	})
	require.Len(r, all, 1, "closed once")
	return all[0]
}

// together does something n times at once, half of it at each relay.
func together[T any](n int, do func(i, relay int) T) []T {
	all := make([]T, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			all[i] = do(i, i%2)
		})
	}
	close(start)
	wg.Wait()
	return all
}
