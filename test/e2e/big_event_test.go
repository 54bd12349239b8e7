package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// sized is an event of exactly so many bytes.
func sized(n int) string {
	const shell = `{"type":"CUSTOM","name":"sized","value":""}`
	return fmt.Sprintf(`{"type":"CUSTOM","name":"sized","value":"%s"}`, strings.Repeat("é", (n-len(shell))/2)+strings.Repeat("e", (n-len(shell))%2))
}

// Events around the size of a broker's message, and of the largest size there is, go over
// HTTP and come out byte for byte, live and in a snapshot. One more byte is refused:
// nothing of that event is stored, and the run goes on.
func TestBIG02_EventsOfAnySizeOverHTTP(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	relay := f.Relay(harness.RelayConfig{Relay: relay.Config{WriteTimeout: harness.Patience}})
	id := startOverHTTP(t, relay, "chat")

	message := int(relay.NC.MaxPayload()) - subjects.HeaderRoom // what one message holds of an event
	var events []string
	for _, size := range []int{message - 1, message, message + 1, 1<<20 - 1, 1 << 20, 1<<20 + 1, 2*message + 1, subjects.MaxEventBytes} {
		events = append(events, sized(size))
	}
	live := watch(t, relay.URL, harness.Live("chat", "run_id", id, "after_seq", 0))
	got := from(id, nil)
	post := func(body string, status int) map[string]any {
		c := ask(t, http.MethodPost, relay.URL+"/runs/"+string(id)+"/events", body)
		require.Equal(t, status, c.Status)
		var answer map[string]any
		require.NoError(t, json.Unmarshal([]byte(whole(t, c)), &answer))
		return answer
	}
	answer := post(strings.Join(events, "\n"), http.StatusOK)
	got.until(t, live, uint64(len(events)))
	require.EqualValues(t, len(events), answer["accepted"])
	require.EqualValues(t, len(events), answer["last_seq"])

	small := sized(100)
	refused := post(strings.Join([]string{small, sized(subjects.MaxEventBytes + 1), small}, "\n"), http.StatusRequestEntityTooLarge)
	require.EqualValues(t, 2, refused["line"])
	require.EqualValues(t, len(events)+2, post(small, http.StatusOK)["last_seq"], "what came before the refused line is stored, it and what came after are not")
	events = append(events, small, small)
	got.until(t, live, uint64(len(events)))

	late := from("", nil)
	late.until(t, watch(t, relay.URL, harness.Live("chat")), uint64(len(events)))
	for _, h := range []*held{got, late} {
		require.Len(t, h.events, len(events))
		for i := range events {
			require.True(t, h.events[i] == events[i], "event %d of %d bytes came as %d", i+1, len(events[i]), len(h.events[i]))
		}
	}
	end := ask(t, http.MethodPost, relay.URL+"/runs/"+string(id)+"/end", `{"persisted":true}`)
	require.Equal(t, http.StatusOK, end.Status)
	got.toEnd(t, live)
}

// startOverHTTP starts a run by POST /runs.
func startOverHTTP(t *testing.T, relay *harness.Relay, chat string) subjects.RunID {
	t.Helper()
	c := ask(t, http.MethodPost, relay.URL+"/runs", fmt.Sprintf(`{"chat_id":%q}`, chat))
	require.Equal(t, http.StatusCreated, c.Status)
	var started struct {
		RunID subjects.RunID `json:"run_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(whole(t, c)), &started))
	return started.RunID
}
