package tabs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/worker"
	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a broker, two relays and a worker.
type rig struct {
	*harness.Fabric
	relays [2]*harness.Relay

	mu    sync.Mutex
	gates map[string]chan struct{}
	begun map[string]int // turns begun, by what they were asked
}

func newRig(t *testing.T, cfg relay.Config) *rig {
	t.Helper()
	r := &rig{Fabric: harness.New(t, harness.Config{}), gates: map[string]chan struct{}{}, begun: map[string]int{}}
	for i := range r.relays {
		r.relays[i] = r.Relay(harness.RelayConfig{Relay: cfg})
	}
	r.Worker(agent.Func(r.answer), worker.Config{Concurrency: 32})
	return r
}

// words is how much an answer says before its gate, and how much after it.
const words = 10

// answerTo is the whole answer to what was said, and halfOf the part before the gate.
func answerTo(said string) string { return answerUpTo(said, 2*words) }

func halfOf(said string) string { return answerUpTo(said, words) }

func answerUpTo(said string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s-%d ", said, i)
	}
	return b.String()
}

// answer says words in answer to a message, and more of them once its gate is open.
func (r *rig) answer(ctx context.Context, t agent.Turn) error {
	var input struct{ Text string }
	if err := json.Unmarshal(t.Request().Input, &input); err != nil {
		return err
	}
	r.mu.Lock()
	r.begun[input.Text]++
	gate := r.gates[input.Text]
	r.mu.Unlock()
	for i := range 2 * words {
		if i == words && gate != nil {
			select {
			case <-gate:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		e := fmt.Sprintf(`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","role":"assistant","delta":"%s-%d "}`, input.Text, i)
		if err := t.Publish(ctx, []byte(e)); err != nil {
			return err
		}
	}
	return nil
}

// hold keeps the answer to what will be said from going on until open is called.
func (r *rig) hold(said string) (open func()) {
	gate := make(chan struct{})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gates[said] = gate
	return sync.OnceFunc(func() { close(gate) })
}

func (r *rig) within() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	r.Cleanup(cancel)
	return ctx
}

// browser is a client that has as many connections as it may.
func (r *rig) browser(most int) *http.Client {
	transport := &http.Transport{MaxConnsPerHost: most, MaxIdleConnsPerHost: most, DisableCompression: true}
	r.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// tab is one request of a client and its answer.
type tab struct {
	*http.Response
	sse   *consumer.Decoder
	close func()
}

// ask sends a request to a relay. It may be called from anywhere.
func (r *rig) ask(c *http.Client, relay int, method, path, body string, header ...string) (*tab, error) {
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	req, err := http.NewRequestWithContext(ctx, method, r.relays[relay].URL+path, strings.NewReader(body))
	if err != nil {
		cancel()
		return nil, err
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		cancel()
		return nil, err
	}
	return &tab{Response: resp, sse: consumer.NewDecoder(resp.Body), close: func() {
		cancel()
		_ = resp.Body.Close()
	}}, nil
}

// open is ask for a stream.
func (r *rig) open(c *http.Client, relay int, method, path, body string, header ...string) *tab {
	r.Helper()
	t, err := r.ask(c, relay, method, path, body, header...)
	require.NoError(r, err)
	r.Cleanup(t.close)
	require.Equal(r, http.StatusOK, t.StatusCode)
	return t
}

// Next is for harness.See.
func (t *tab) Next(context.Context) (consumer.Frame, error) {
	m, err := t.sse.Next()
	if err != nil {
		return consumer.Frame{}, err
	}
	return consumer.ParseFrame(m.Data)
}

// said is what a request was answered with.
type said struct {
	Status int             `json:"-"`
	Body   string          `json:"-"`
	RunID  subjects.RunID  `json:"run_id"`
	State  string          `json:"state"`
	Seq    uint64          `json:"seq"`
	Events json.RawMessage `json:"events"`
	Turns  []savedTurn     `json:"turns"`
	Runs   []liveRun       `json:"runs"`
}

// savedTurn is a turn of the history.
type savedTurn struct {
	RunID subjects.RunID `json:"run_id"`
	Input struct {
		Text string `json:"text"`
	} `json:"input"`
	Events json.RawMessage `json:"events"`
}

// liveRun is a run as the feed tells of it.
type liveRun struct {
	RunID  subjects.RunID  `json:"run_id"`
	ChatID string          `json:"chat_id"`
	State  string          `json:"state"`
	Reason subjects.Reason `json:"reason"`
}

// do sends a request and reads its whole answer.
func (r *rig) do(c *http.Client, relay int, method, path, body string, header ...string) (a said) {
	t, err := r.ask(c, relay, method, path, body, header...)
	if err != nil {
		r.Errorf("%s %s: %v", method, path, err)
		return a
	}
	defer t.close()
	all, err := io.ReadAll(t.Body)
	if err == nil && len(bytes.TrimSpace(all)) > 0 {
		err = json.Unmarshal(all, &a)
	}
	if err != nil {
		r.Errorf("%s %s: %v: %s", method, path, err, all)
	}
	a.Status, a.Body = t.StatusCode, string(all)
	return a
}

// send wants a message to be taken.
func (r *rig) send(c *http.Client, chat, text string) subjects.RunID {
	r.Helper()
	a := r.do(c, 0, http.MethodPost, "/chat/send", fmt.Sprintf(`{"chat_id":%q,"input":{"text":%q}}`, chat, text))
	require.Equal(r, http.StatusAccepted, a.Status, a.Body)
	return a.RunID
}

// plain is a client whose connections nobody counts.
func (r *rig) plain() *http.Client { return r.browser(0) }

// text is what events say, folded or not.
func text(events ...string) (all string) {
	for _, e := range events {
		var d struct{ Delta string }
		_ = json.Unmarshal([]byte(e), &d) // what has none says nothing
		all += d.Delta
	}
	return all
}

// textOf is the same of a JSON array.
func textOf(t testing.TB, events json.RawMessage) (all string) {
	t.Helper()
	var each []json.RawMessage
	require.NoError(t, json.Unmarshal(events, &each))
	for _, e := range each {
		all += text(string(e))
	}
	return all
}

// half waits until a stream has shown what an answer says before its gate.
func (r *rig) half(t *tab, said string) *harness.Seen {
	r.Helper()
	seen, err := harness.See(r.within(), t, func(s *harness.Seen) bool { return text(s.Events...) == halfOf(said) })
	require.NoError(r, err)
	return seen
}
