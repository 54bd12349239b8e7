package e2e_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// turn is an agent's turn: reasoning, a text, a tool call between whose arguments the
// text goes on and then another call's come, its result, and a second text.
func turn(chat string) []string {
	return []string{
		fmt.Sprintf(`{"type":"RUN_STARTED","threadId":%q,"runId":"agent"}`, chat),
		`{"type":"REASONING_START","messageId":"r1"}`,
		`{"type":"REASONING_MESSAGE_START","messageId":"r1","role":"reasoning"}`,
		`{"type":"REASONING_MESSAGE_CONTENT","messageId":"r1","delta":"They want "}`,
		`{"type":"REASONING_MESSAGE_CONTENT","messageId":"r1","delta":"the weather \ud83c"}`,
		`{"type":"REASONING_MESSAGE_CONTENT","messageId":"r1","delta":"\udf26 in Köln"}`,
		`{"type":"REASONING_MESSAGE_END","messageId":"r1"}`,
		`{"type":"REASONING_END","messageId":"r1"}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Let me "}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"look"}`,
		`{"type":"TOOL_CALL_START","toolCallId":"t1","toolCallName":"weather","parentMessageId":"m1"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"t1","delta":"{\"ci"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"t1","delta":"ty\":\"K\\u00"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":" it up"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"."}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"m1"}`,
		`{"type":"TOOL_CALL_START","toolCallId":"t2","toolCallName":"time"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"t1","delta":"f6l"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"t2","delta":"{"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"t1","delta":"n\"}"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"t1","delta":""}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"t2","delta":"}"}`,
		`{"type":"TOOL_CALL_END","toolCallId":"t1"}`,
		`{"type":"TOOL_CALL_END","toolCallId":"t2"}`,
		`{"type":"TOOL_CALL_RESULT","messageId":"x1","toolCallId":"t1","content":"rain"}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"m2","role":"assistant"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m2","delta":"It "}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m2","delta":"rains."}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"m2"}`,
		fmt.Sprintf(`{"type":"RUN_FINISHED","threadId":%q,"runId":"agent"}`, chat),
	}
}

// SEAM-06: a reader reconnects once at every seq of a turn, each time to a relay that has
// just been started: while the run is at that seq, when it has gone on, and by a
// snapshot. What it holds is at every moment what an uninterrupted reader holds.
func TestSEAM06_ReconnectAtEverySeqOnAFreshRelay(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	run, events := f.Start(f.Producer(f.Connect()), "c"), turn("c")
	type reader struct {
		*held
		conn *harness.Conn
		cut  int
	}
	var readers []reader
	var relays []*harness.Relay
	for cut := range len(events) + 1 {
		if cut > 0 {
			publish(t, run, events[cut-1])
		}
		relay := f.Relay(harness.RelayConfig{})
		relays = append(relays, relay)
		live := reader{from(run.ID(), events[:cut]), resume(t, relay.URL, run.ID(), cut), cut}
		require.Equal(t, consumer.Synced, live.frame(t, live.conn).Type, "at %d there is nothing to replay", cut)
		fresh := reader{new(held), watch(t, relay.URL, harness.Live("c")), cut}
		require.Equal(t, consumer.Snapshot, fresh.frame(t, fresh.conn).Type)
		require.Equal(t, reduce(events[:cut]), fresh.state(), "the snapshot at %d", cut)
		readers = append(readers, live, fresh)
	}
	for cut := range len(events) + 1 {
		relay := relays[len(relays)-1-cut] // one that has shown somebody else another part
		readers = append(readers, reader{from(run.ID(), events[:cut]), resume(t, relay.URL, run.ID(), cut), cut})
	}
	finish(t, run, true)
	want := reduce(events)
	require.Empty(t, want.Unknown)
	for _, r := range readers {
		r.toEnd(t, r.conn)
		require.Equal(t, want, r.state(), "cut at %d", r.cut)
	}
	byEveryRoute(t, relays[0].URL, "c", run.ID(), want, subjects.End{Persisted: true, Reason: subjects.ReasonDone})
}

// resume comes back with a cursor, by POST or as EventSource does.
func resume(t *testing.T, url string, id subjects.RunID, after int) *harness.Conn {
	t.Helper()
	if after%2 == 0 {
		return watch(t, url, harness.Live("c", "run_id", id, "after_seq", after, "synced", true))
	}
	c := ask(t, http.MethodGet, url+"/chat/live?synced=true&chat_id=c", "", "Last-Event-ID", fmt.Sprintf("%s:%d", id, after))
	require.Equal(t, http.StatusOK, c.Status)
	return c
}
