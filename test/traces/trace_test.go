package traces_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/collector"
)

// One trace: the caller's request, the relay, the queue, the worker, the agent, the saver.
func TestATraceFromTheRequestToTheAgent(t *testing.T) {
	t.Parallel()
	c := collector.New(t)
	f := newFabric(t, app.TraceConfig{Endpoint: c.URL})
	run := f.send("/chat/send", `{"chat_id":"a secret chat","input":{"text":"a secret text"}}`, "traceparent", parent, "tracestate", "a=1")
	asked, saved := f.agent.next(t), f.saver.next(t)
	resp := f.post("/chat/live", fmt.Sprintf(`{"chat_id":"a secret chat","run_id":%q,"after_seq":0,"protocol":1}`, run), "traceparent", parent)
	_, err := io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	resp.Body.Close()

	find := func(name string, up collector.Span) collector.Span {
		t.Helper()
		return c.Await(t, name+" below "+up.Name, func(s collector.Span) bool {
			return s.Name == name && s.Trace == traceID && s.Parent == up.ID && s.Error == ""
		})
	}
	client := collector.Span{Name: "the caller", ID: caller}
	sent, live := find("POST /chat/send", client), find("POST /chat/live", client)
	queue, turn := find("queue", sent), find("turn", sent)
	find("begin", turn)
	agent, end := find("agent", turn), find("end", turn)
	post := find("POST", agent)
	save := find("save", end)
	hook := find("POST", save)

	require.Equal(t, "00-"+traceID+"-"+post.ID+"-01", asked.Header.Get("Traceparent"), "the agent's own spans are below the request to it")
	require.Equal(t, "a=1", asked.Header.Get("Tracestate"))
	require.Equal(t, "00-"+traceID+"-"+hook.ID+"-01", saved.Header.Get("Traceparent"))
	require.Equal(t, []string{"rejoin-relay", "rejoin-worker"}, []string{sent.Service, turn.Service})
	require.Equal(t, []string{"SERVER", "CONSUMER", "CLIENT"}, []string{sent.Kind, turn.Kind, post.Kind})
	require.False(t, queue.To.After(agent.From), "it waited before it was answered")
	for _, s := range []collector.Span{sent, turn, live} {
		require.Equal(t, run, s.Text["rejoin.run"], s.Name)
	}
	require.Equal(t, "done", turn.Text["rejoin.reason"])
	require.EqualValues(t, 202, sent.Numbers["http.response.status_code"])
	require.EqualValues(t, 2, live.Numbers["rejoin.seq.to"])
	require.Equal(t, "end", live.Text["rejoin.cause"])
	require.Positive(t, live.Numbers["rejoin.bytes"])
	for _, s := range c.Spans() {
		for _, v := range s.Text {
			require.NotContains(t, v, " ", "%s: what users say is in no span", s.Name)
		}
	}
	require.Len(t, c.Spans(), 10, "and none of single events")
	require.Positive(t, f.logs.lines("part=relay", `msg="stream closed"`, "trace_id="+traceID, "run="+run))
	require.Positive(t, f.logs.lines("part=worker", `msg="turn answered"`, "trace_id="+traceID, "reason=done"))
	require.Positive(t, f.logs.lines("part=turns", `msg="turn sent"`, "trace_id="+traceID))
}

// Without a collector the caller's own context reaches the agent, the saver, the queue and
// the run's first record as it is.
func TestATracePassesThroughUnrecorded(t *testing.T) {
	t.Parallel()
	f := newFabric(t, app.TraceConfig{})
	nc, err := nats.Connect(f.relay.Broker().ClientURL())
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	queued := make(chan *nats.Msg, 10)
	_, err = nc.ChanSubscribe("rejoin.turn.>", queued)
	require.NoError(t, err)
	require.NoError(t, nc.Flush())
	first := func(run string) nats.Header {
		t.Helper()
		id, err := subjects.ParseRunID(run)
		require.NoError(t, err)
		s, err := js.Stream(t.Context(), subjects.RunsStream(id.Partition()))
		require.NoError(t, err)
		m, err := s.GetMsg(t.Context(), 1, jetstream.WithGetMsgSubject(subjects.RunSubject(id)))
		require.NoError(t, err)
		return m.Header
	}
	unsampled := parent[:len(parent)-1] + "0"
	for i, p := range []string{parent, unsampled} {
		run := f.send("/chat/send", fmt.Sprintf(`{"chat_id":"c%d","input":{"text":"x"}}`, i), "traceparent", p, "tracestate", "a=1,b=2")
		for _, r := range []map[string][]string{f.agent.next(t).Header, f.saver.next(t).Header} {
			require.Equal(t, []string{p}, r["Traceparent"])
			require.Equal(t, []string{"a=1,b=2"}, r["Tracestate"])
		}
		for _, h := range []nats.Header{first(run), (<-queued).Header} {
			require.Equal(t, []string{p}, h[subjects.TraceParentHeader])
			require.Equal(t, []string{"a=1,b=2"}, h[subjects.TraceStateHeader])
		}
	}
	made := f.send("/runs", `{"chat_id":"p"}`, "traceparent", parent)
	require.Equal(t, []string{parent}, first(made)[subjects.TraceParentHeader])
	require.Positive(t, f.logs.lines("part=worker", "trace_id="+traceID)+f.logs.lines("part=turns", "trace_id="+traceID))

	// What is malformed is no trace, and nothing is made up.
	for i, bad := range []string{"", "00-xyz", strings.ToUpper(parent), parent + "-00"} {
		run := f.send("/chat/send", fmt.Sprintf(`{"chat_id":"bad%d","input":{"text":"x"}}`, i), "traceparent", bad, "tracestate", "a=1")
		require.Empty(t, f.agent.next(t).Header["Traceparent"])
		require.Empty(t, f.saver.next(t).Header["Traceparent"])
		require.NotContains(t, first(run), subjects.TraceParentHeader)
	}
}

// A collector that is away delays no turn and no end.
func TestACollectorThatIsAway(t *testing.T) {
	t.Parallel()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, ln.Close())
	f := newFabric(t, app.TraceConfig{Endpoint: "http://" + ln.Addr().String()})
	for i := range 20 {
		f.send("/chat/send", fmt.Sprintf(`{"chat_id":"c%d","input":{"text":"x"}}`, i), "traceparent", parent)
	}
	for range 20 {
		require.True(t, strings.HasPrefix(f.agent.next(t).Header.Get("Traceparent"), "00-"+traceID))
		f.saver.next(t)
	}
	require.Eventually(t, func() bool { return f.logs.lines("part=tracing", "did not reach the collector") > 0 }, patience, 10*time.Millisecond)
	require.LessOrEqual(t, f.logs.lines("part=tracing"), 2, "one line a minute for each process")
}
