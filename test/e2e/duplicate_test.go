package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/producer/ingest"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
	"github.com/rejoin/rejoin/test/proxy"
)

// DUP-02: the chat's last saved message is the previous answer, and the run that follows
// is resumed. What the observer gets is of the new run alone, whatever its messages are
// called, also where the producer gives none a name or takes the old one again.
func TestDUP02_ASnapshotHoldsNothingOfThePreviousTurn(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	relay := f.Relay(harness.RelayConfig{})
	for name, second := range map[string][]string{
		"its own id":    talk("m2", "new ", "answer"),
		"no id":         {`{"type":"TEXT_MESSAGE_CHUNK","delta":"new "}`, `{"type":"TEXT_MESSAGE_CHUNK","delta":"answer"}`},
		"the old id":    talk("a1", "new ", "answer"),
		"goes on in it": {`{"type":"TEXT_MESSAGE_CONTENT","messageId":"a1","delta":"new "}`, `{"type":"TOOL_CALL_RESULT","messageId":"x","toolCallId":"t","content":"answer"}`},
	} {
		before := f.Start(relay.Producer, name)
		publish(t, before, talk("a1", "old ", "answer")...)
		finish(t, before, true)
		cursor := []any{"run_id", before.ID(), "after_seq", before.StoredSeq()}
		old := from(before.ID(), talk("a1", "old ", "answer"))
		old.toEnd(t, watch(t, relay.URL, harness.Live(name, cursor...)))

		run := f.Start(relay.Producer, name)
		publish(t, run, second[0])
		readers := map[*held]*harness.Conn{
			{}:                         watch(t, relay.URL, harness.Live(name)),
			old:                        watch(t, relay.URL, harness.Live(name, cursor...)),
			from(run.ID(), second[:1]): watch(t, relay.URL, harness.Live(name, "run_id", run.ID(), "after_seq", 1)),
		}
		old.end = nil // it takes up the chat's next run
		for h, c := range readers {
			if h.run != run.ID() {
				require.Equal(t, consumer.Snapshot, h.frame(t, c).Type)
			}
			require.Equal(t, run.ID(), h.run)
			require.Equal(t, second[:1], h.events, name)
		}
		publish(t, run, second[1:]...)
		finish(t, run, false)
		for h, c := range readers {
			require.Equal(t, second, h.toEnd(t, c).events, name)
		}
		late := new(held).toEnd(t, watch(t, relay.URL, harness.Live(name)))
		require.NotContains(t, strings.Join(late.events, ""), "old ")
		require.Equal(t, reduce(second), late.state(), name)
	}
}

// DUP-04: a publish is stored and its acknowledgement lost, again and again. The producer
// settles each before it goes on, and no reader sees an event twice, late or not at all.
func TestDUP04_ALostAckIsNoSecondEvent(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{Broker: harness.Networked(t)})
	relay := f.Relay(harness.RelayConfig{})
	link := f.Connect()
	run := f.Start(f.Producer(link), "c")
	const events = 100
	live := &harness.Observer{}
	c := watch(t, relay.URL, harness.Live("c"))
	for seq := uint64(1); seq <= events; seq++ {
		lost := seq%7 == 1
		release := func() {}
		if lost { // what was in flight is settled, so that this event goes out at once
			_, err := run.Flush(bounded(t))
			require.NoError(t, err)
			release = link.Proxy.Hold(proxy.Down)
		}
		_, err := run.Publish(t.Context(), harness.Delta(seq))
		require.NoError(t, err)
		require.NoError(t, live.Until(bounded(t), c, seq)) // it is stored
		if lost {
			require.Less(t, run.StoredSeq(), seq)
			link.Proxy.Cut()
			release()
		}
	}
	finish(t, run, false)
	require.NoError(t, live.ToEnd(bounded(t), c))
	require.NoError(t, live.Holds(events))
	require.Equal(t, 1, live.Snapshots)
	for _, after := range []uint64{0, 49, 50, 51} {
		o := harness.At(run.ID(), after)
		require.NoError(t, o.ToEnd(bounded(t), watch(t, relay.URL, harness.Live("c", "run_id", run.ID(), "after_seq", after))))
		require.NoError(t, o.Holds(events))
		require.EqualValues(t, events-after, o.Events)
	}
}

// DUP-04: the same over HTTP: the answer to a body of events is lost, and the body is
// sent again to another relay, longer than before.
func TestDUP04_ABodySentAgainIsNoSecondEvent(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	relay, other := f.Relay(harness.RelayConfig{}), f.Relay(harness.RelayConfig{})
	front, url := f.Front(relay)
	id := started(t, relay.URL, "c")
	live := &harness.Observer{}
	c := watch(t, other.URL, harness.Live("c"))

	release := front.Hold(proxy.Down)
	failed := make(chan error, 1)
	go func() {
		_, err := harness.Ask(t.Context(), http.MethodPost, url+"/runs/"+id+"/events", lines(1, 10), ingest.FirstSeqHeader, "1")
		failed <- err
	}()
	require.NoError(t, live.Until(bounded(t), c, 10))
	front.Cut()
	release()
	require.Error(t, <-failed)
	for _, url := range []string{other.URL, url} {
		answer := ask(t, http.MethodPost, url+"/runs/"+id+"/events", lines(1, 15), ingest.FirstSeqHeader, "1")
		require.Contains(t, whole(t, answer), `"last_seq":15`)
	}
	require.JSONEq(t, `{"seq":15}`, whole(t, ask(t, http.MethodPost, relay.URL+"/runs/"+id+"/end", `{"persisted":true}`)))
	require.NoError(t, live.ToEnd(bounded(t), c))
	require.NoError(t, live.Holds(15))
	require.Equal(t, subjects.End{Persisted: true, Reason: subjects.ReasonDone}, *live.End)
}

// started starts a run over HTTP.
func started(t *testing.T, url, chat string) (id string) {
	t.Helper()
	c := ask(t, http.MethodPost, url+"/runs", `{"chat_id":`+quoted(chat)+`}`)
	require.Equal(t, http.StatusCreated, c.Status)
	id = strings.TrimPrefix(c.Header.Get("Location"), "/runs/")
	require.JSONEq(t, fmt.Sprintf(`{"run_id":%q,"chat_id":%s}`, id, quoted(chat)), whole(t, c))
	return id
}

// lines is a body of events of numbered text.
func lines(from, to uint64) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		b.Write(harness.Delta(i))
		b.WriteByte('\n')
	}
	return b.String()
}
