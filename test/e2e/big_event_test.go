package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// sized is an event of exactly so many bytes, a few of them not ASCII.
func sized(n int) string {
	const shell = `{"type":"CUSTOM","name":"sized","value":""}`
	return fmt.Sprintf(`{"type":"CUSTOM","name":"sized","value":"é%sé"}`, strings.Repeat("e", n-len(shell)-2*len("é")))
}

// Events around the size of a broker's message, and of the largest size there is, go over
// HTTP and come out byte for byte, one by one and in a snapshot. One more byte is refused:
// nothing of that event is stored, and the run goes on.
func TestBIG02_EventsOfAnySizeOverHTTP(t *testing.T) {
	t.Parallel()
	dev := harness.NewDev(t, "--demo=false", "--lease", "1h") // whatever the machine's pace
	dev.Start()
	dev.Ready()
	id := startOverHTTP(t, dev.URL, "chat")

	const message = 1<<20 - subjects.HeaderRoom // what one of the broker's messages holds of an event
	var events []string
	for _, size := range []int{message - 1, message, message + 1, 1<<20 - 1, 1 << 20, 1<<20 + 1, 2*message + 1, subjects.MaxEventBytes} {
		events = append(events, sized(size))
	}
	post := func(body string, status int) map[string]any {
		c := ask(t, http.MethodPost, dev.URL+"/runs/"+string(id)+"/events", body)
		require.Equal(t, status, c.Status)
		var answer map[string]any
		require.NoError(t, json.Unmarshal([]byte(whole(t, c)), &answer))
		return answer
	}
	answer := post(strings.Join(events, "\n"), http.StatusOK)
	require.EqualValues(t, len(events), answer["accepted"])
	require.EqualValues(t, len(events), answer["last_seq"])

	small := sized(100)
	refused := post(strings.Join([]string{small, sized(subjects.MaxEventBytes + 1), small}, "\n"), http.StatusRequestEntityTooLarge)
	require.EqualValues(t, 2, refused["line"])
	require.EqualValues(t, len(events)+2, post(small, http.StatusOK)["last_seq"], "what came before the refused line is stored, it and what came after are not")
	events = append(events, small, small)

	live := watch(t, dev.URL, harness.Live("chat", "run_id", id, "after_seq", 0))
	for i, e := range events {
		require.Equal(t, digestOf(fmt.Sprintf(`"seq":%d,"event":%s}`, i+1, e)), next(t, live), "event %d", i+1)
	}
	snapshot := fmt.Sprintf(`"seq":%d,"events":[%s]}`, len(events), strings.Join(events, ","))
	require.Equal(t, digestOf(snapshot), next(t, watch(t, dev.URL, harness.Live("chat"))))
	end := ask(t, http.MethodPost, dev.URL+"/runs/"+string(id)+"/end", `{"persisted":true}`)
	require.Equal(t, http.StatusOK, end.Status)
	last, err := live.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, consumer.End, last.Type)
}

// next is the digest of the next frame, from its seq on.
func next(t *testing.T, c *harness.Conn) uint32 {
	t.Helper()
	d := newDigest()
	require.NoError(t, c.CopyData(d, `"seq":`))
	return d.Sum32()
}

func digestOf(s string) uint32 {
	d := newDigest()
	_, _ = d.Write([]byte(s))
	return d.Sum32()
}

// startOverHTTP starts a run by POST /runs.
func startOverHTTP(t *testing.T, url, chat string) subjects.RunID {
	t.Helper()
	c := ask(t, http.MethodPost, url+"/runs", fmt.Sprintf(`{"chat_id":%q}`, chat))
	require.Equal(t, http.StatusCreated, c.Status)
	var started struct {
		RunID subjects.RunID `json:"run_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(whole(t, c)), &started))
	return started.RunID
}
