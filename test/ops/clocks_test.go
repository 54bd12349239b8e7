package ops_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// How long things are kept in the tests of clocks: little beside what the clocks are off by,
// and more than a busy machine holds anything up.
const (
	clockLease  = 4 * time.Second
	clockRetain = 10 * time.Second
	clockTTL    = 12 * time.Second
)

func clockFlags() []string {
	return []string{"--lease", clockLease.String(), "--retain", clockRetain.String(), "--turn-ttl", clockTTL.String()}
}

// clocks is a fabric whose processes do not agree what time it is.
type clocks struct {
	t      *testing.T
	nats   string
	ahead  *harness.Rejoin // a relay
	exact  *harness.Rejoin // another
	agent  string
	binary string
}

// OPS-04: a relay is three minutes ahead, workers are five hours ahead and ten minutes behind, and a
// client five hours ahead. What is kept for seconds is kept for seconds, nobody is
// taken for dead, nobody dead for alive, and turns stand in the order in which they were sent.
func TestOPS04_ClocksThatDisagree(t *testing.T) {
	t.Parallel()
	binary := wrongClock(t)
	ctx := bounded(t)
	b, f := broker(t)
	answers, release := agent(t)
	c := &clocks{t: t, nats: b.NATS, agent: answers, binary: binary}
	c.exact = relay(f, clockFlags()...)
	c.ahead = f.RelayProcess(clockFlags()...)
	c.ahead.Path, c.ahead.Env = binary, clock(3*time.Minute)
	c.ahead.Start()
	c.ahead.Ready()

	// The chat's first turns are answered by a worker that is far ahead.
	fast := c.worker(5 * time.Hour)
	var sent []subjects.RunID
	for range 2 {
		id := c.send("chat", "hi")
		c.ended(id, subjects.ReasonDone)
		sent = append(sent, id)
	}
	over := time.Now()
	fast.Terminate()
	require.Zero(t, fast.Exit())
	for _, id := range sent {
		c.leaves(ctx, id)
	}
	require.GreaterOrEqual(t, time.Since(over)+time.Second, clockRetain, "none leaves early") // its end was stored before over

	// The next one by a worker that is behind, for longer than the lease.
	slow := c.worker(-10 * time.Minute)
	id := c.send("chat", "wait")
	sent = append(sent, id)
	c.said(id)
	c.sweeps(8)
	require.Equal(t, "running", c.state(id), "nobody takes it for dead")
	c.tail(id, release)
	c.ended(id, subjects.ReasonDone)
	require.Equal(t, sent, c.history("chat"))

	// One whose worker dies is ended after its lease, and not before.
	id = c.send("orphan", "wait for ever")
	c.said(id)
	died := time.Now()
	slow.Kill()
	c.ended(id, subjects.ReasonAbandoned)
	require.GreaterOrEqual(t, time.Since(died), clockLease)

	// One that nobody takes ends after its time, and not before.
	from := time.Now()
	id = c.send("nobody", "hi")
	c.ended(id, subjects.ReasonError)
	require.GreaterOrEqual(t, time.Since(from)+time.Second, clockTTL)
}

// worker starts a worker whose clock is off.
func (c *clocks) worker(off time.Duration) *harness.Process {
	c.t.Helper()
	addr := harness.FreeAddr(c.t)
	args := append([]string{"worker", "--nats", c.nats, "--ops-addr", addr, "--agent", "agui", "--url", c.agent}, clockFlags()...)
	p := harness.Spawn(c.t, exec.Command(c.binary, args...), clock(off)...)
	becomes(c.t, "http://"+addr, http.StatusOK)
	return p
}

// send sends a turn to the relay that is ahead.
func (c *clocks) send(chat, say string) subjects.RunID {
	c.t.Helper()
	code, body, err := post(c.t.Context(), http.DefaultClient, c.ahead.URL+"/chat/send", fmt.Appendf(nil, `{"chat_id":%q,"input":{"text":%q}}`, chat, say), nil)
	require.NoError(c.t, err)
	require.Equal(c.t, http.StatusAccepted, code, string(body))
	var sent struct {
		RunID subjects.RunID `json:"run_id"`
	}
	require.NoError(c.t, json.Unmarshal(body, &sent))
	return sent.RunID
}

// ask reads a JSON answer of the exact relay.
func (c *clocks) ask(path string, into any) int {
	c.t.Helper()
	a, err := harness.Ask(c.t.Context(), http.MethodGet, c.exact.URL+path, "")
	require.NoError(c.t, err)
	body, err := a.Rest()
	require.NoError(c.t, err)
	if a.Status == http.StatusOK {
		require.NoError(c.t, json.Unmarshal([]byte(body), into))
	}
	return a.Status
}

func (c *clocks) state(id subjects.RunID) string {
	c.t.Helper()
	var r struct{ State string }
	require.Equal(c.t, http.StatusOK, c.ask("/runs/"+string(id), &r))
	return r.State
}

// said waits until a run has said something.
func (c *clocks) said(id subjects.RunID) {
	c.t.Helper()
	harness.Eventually(c.t, "it runs", func() bool {
		var snap struct{ Seq uint64 }
		return c.ask("/runs/"+string(id)+"/snapshot", &snap) == http.StatusOK && snap.Seq >= 3
	})
}

// ended waits until a run has its end, which has to be for that reason.
func (c *clocks) ended(id subjects.RunID, why subjects.Reason) {
	c.t.Helper()
	var r struct{ End *subjects.End }
	harness.Eventually(c.t, "it has ended", func() bool {
		require.Equal(c.t, http.StatusOK, c.ask("/runs/"+string(id), &r))
		return r.End != nil
	})
	require.Equal(c.t, why, r.End.Reason)
}

// leaves waits until a run is not kept any more.
func (c *clocks) leaves(ctx context.Context, id subjects.RunID) {
	c.t.Helper()
	harness.Eventually(c.t, "it has left", func() bool { return status(ctx, c.exact.URL+"/runs/"+string(id)) == http.StatusNotFound })
}

// sweeps waits until the janitors of both relays have swept n times more.
func (c *clocks) sweeps(n float64) {
	c.t.Helper()
	for _, r := range []*harness.Rejoin{c.ahead, c.exact} {
		before, err := r.Number("rejoin_janitor_sweep_seconds_count")
		require.NoError(c.t, err)
		harness.Eventually(c.t, "the janitor sweeps", func() bool {
			now, err := r.Number("rejoin_janitor_sweep_seconds_count")
			return err == nil && now >= before+n
		})
	}
}

// tail reads the run with a client that is five hours ahead, at the relay that is three minutes
// ahead. go on is called once it reads.
func (c *clocks) tail(id subjects.RunID, goOn func()) {
	c.t.Helper()
	p := harness.Spawn(c.t, exec.Command(c.binary, "tail", "--url", c.ahead.URL, "--chat", "chat", "--run", string(id), "--raw"),
		clock(5*time.Hour)...)
	p.Line(`{"type":"STREAM_SNAPSHOT"`)
	goOn()
	p.Line(`{"type":"STREAM_END"`)
	require.Zero(c.t, p.Exit())
}

// history is the chat's saved turns.
func (c *clocks) history(chat string) (runs []subjects.RunID) {
	c.t.Helper()
	var h struct {
		Turns []struct {
			RunID subjects.RunID `json:"run_id"`
		}
	}
	require.Equal(c.t, http.StatusOK, c.ask("/chat/"+chat+"/history", &h))
	for _, t := range h.Turns {
		runs = append(runs, t.RunID)
	}
	return runs
}

// OPS-04: events that carry no time, the same, one that falls, or one of another century stay
// in the order in which they were published, for who watches and for who comes late.
func TestOPS04_TimesInEventsAreNobodysBusiness(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	f := harness.New(t, harness.Config{})
	r := f.Relay(harness.RelayConfig{})
	run := f.Start(f.Producer(f.Connect()), "chat")
	s := r.Client().Watch(ctx, consumer.Watch{ChatID: "chat"})
	defer s.Close()
	times := []string{"", "1700000000000", "1700000000000", "1600000000000", "", "0", "-1", "99999999999999", "1700000000001", "null"}
	var want []string
	for i, at := range times {
		e := fmt.Sprintf(`{"type":"CUSTOM","name":"n%d"`, i)
		if at != "" {
			e += `,"timestamp":` + at
		}
		want = append(want, e+"}")
		_, err := run.Publish(ctx, []byte(e+"}"))
		require.NoError(t, err)
	}
	_, err := run.Flush(ctx)
	require.NoError(t, err)
	for range 2 { // who watches, and who comes late
		seen, err := harness.See(ctx, s, func(seen *harness.Seen) bool { return seen.Seq == uint64(len(want)) })
		require.NoError(t, err)
		require.Equal(t, want, seen.Events)
		s = r.Client().Watch(ctx, consumer.Watch{ChatID: "chat"})
		defer s.Close()
	}
}

// OPS-04: the broker's clock leaps back by an hour, and forward again, under readers and
// producers. The order is that of the log; nobody is taken for dead, and who dies is found.
func TestOPS04_TheBrokersClockLeaps(t *testing.T) {
	t.Parallel()
	binary := wrongClock(t)
	ctx := bounded(t)
	b, _ := broker(t, clockFlags()...)
	b.Path = binary
	f := harness.New(t, harness.Config{URL: b.NATS, Lease: clockLease})
	r := relay(f, clockFlags()...)
	c := gather(ctx, t, newBalancer(t, r.URL), 8)
	c.read(ctx, 40)
	for _, leap := range []time.Duration{-time.Hour, 0} {
		b.Kill()
		b.Env = clock(leap)
		b.Start()
		b.Ready()
		c.goesOn()
		before, err := r.Number("rejoin_janitor_sweep_seconds_count")
		require.NoError(t, err)
		harness.Eventually(t, "the janitor sweeps", func() bool {
			now, err := r.Number("rejoin_janitor_sweep_seconds_count")
			return err == nil && now >= before+8
		})
		c.goesOn()
		p, id := f.ProducerProcess("orphan "+leap.String(), 3)
		died := time.Now()
		p.Kill()
		clocks := &clocks{t: t, exact: r}
		clocks.ended(id, subjects.ReasonAbandoned)
		t.Logf("off by %v: a run is abandoned %v after its producer died", leap, since(died))
	}
	c.end()
}
