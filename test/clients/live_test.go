package clients_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/subjects"
)

// reading is what a reader is left with.
type reading struct {
	Texts       map[string]string
	Snapshots   int
	Connections int
	End         subjects.End
}

// UNI-03: readers of server-sent events are cut off in mid-answer, come back by their own means, and are left with the
// producer's text: no gap, nothing twice, and no end but the run's.
func TestUNI03_ReadersAreCutOffAndComeBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for kind, snapshots := range map[string]int{
		"eventsource":        1, // it goes on behind the last id
		"fetch-event-source": 2, // it sends its first body again, without a cursor
		"eventsource-parser": 1, // its application sends the cursor
	} {
		t.Run(kind, func(t *testing.T) {
			chat := "chat " + kind
			status, body := r.post("/chat/send", `{"chat_id":"`+chat+`","input":{"text":"hi"}}`)
			require.Equal(t, 202, status, body)
			var sent struct {
				RunID string `json:"run_id"`
			}
			require.NoError(t, json.Unmarshal([]byte(body), &sent))
			s := start(t, "live.mjs", kind, r.url, chat, sent.RunID)
			s.heard("open", nil)
			s.heard("half", nil)
			r.proxy.Cut()
			s.heard("open", nil)
			r.agent.goOn(chat)
			var got reading
			s.heard("ended", &got)
			require.Equal(t, map[string]string{"answer-" + sent.RunID: whole}, got.Texts)
			require.Equal(t, subjects.End{Persisted: true, Reason: subjects.ReasonDone}, got.End)
			require.Equal(t, 2, got.Connections)
			require.Equal(t, snapshots, got.Snapshots)
			for _, line := range s.told {
				require.NotContains(t, line, "gap")
				require.NotContains(t, line, "malformed")
			}
		})
	}
}
