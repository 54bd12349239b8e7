package edge_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/test/harness"
)

// rarelyGone are the paths whose 404 nobody can have for the asking: the run has to leave
// between two looks at it.
var rarelyGone = map[string]bool{"/chat/live": true, "/chat": true, "/agui/{chat_id}": true, "/api/chat": true, "/api/chat/{chat_id}/stream": true}

// doors holds the routes for clients of other ecosystems against the document. No worker is there:
// the runs are stopped.
func doors(t *testing.T, c *contract, client *http.Client) {
	t.Helper()
	stopped := func(chat string, k call) {
		t.Helper()
		stopping := make(chan struct{})
		go func() {
			defer close(stopping)
			harness.Eventually(t, "the run is there to be stopped", func() bool {
				resp := ask(t, client, http.MethodPost, c.url+"/chat/stop", `{"chat_id":"`+chat+`","client_token":"door"}`)
				defer resp.Body.Close()
				return resp.StatusCode == http.StatusAccepted
			})
		}()
		c.holds(t, client, k)
		<-stopping
	}
	input := func(more string) string {
		return `{"threadId":"x","runId":"r","messages":[{"id":"u","role":"user","content":"hi"}],"forwardedProps":{"rejoin":{` + more + `}}}`
	}
	stopped("door1", call{200, "POST", "/agui/{chat_id}", "/agui/door1", input(`"client_token":"door"`), nil, "", ""})
	ui := func(chat, more string) string {
		return `{"id":"` + chat + `","messages":[{"id":"u","role":"user","parts":[{"type":"text","text":"hi"}]}]` + more + `}`
	}
	stopped("door2", call{200, "POST", "/api/chat", "", ui("door2", `,"trigger":"submit-message","client_token":"door"`), nil, "", ""})
	c.holds(t, client, call{200, "GET", "/api/chat/{chat_id}/stream", "/api/chat/ended/stream", "", nil, "", ""})
	c.holds(t, client, call{204, "GET", "/api/chat/{chat_id}/stream", "/api/chat/idle/stream", "", nil, "", ""})

	c.holds(t, client, call{400, "POST", "/agui/{chat_id}", "/agui/c", `{}`, nil, "bad_request", ""})
	c.holds(t, client, call{400, "POST", "/api/chat", "", `{}`, nil, "bad_request", ""})
	long := strings.Repeat("x", 300)
	c.holds(t, client, call{400, "GET", "/api/chat/{chat_id}/stream", "/api/chat/" + long + "/stream", "", nil, "bad_request", ""})
	big := `"` + strings.Repeat("x", 5<<20) + `"`
	c.holds(t, client, call{413, "POST", "/agui/{chat_id}", "/agui/c", `{"messages":[` + big + `]}`, nil, "too_large", ""})
	c.holds(t, client, call{413, "POST", "/api/chat", "", big, nil, "too_large", ""})
	resp := ask(t, client, http.MethodPost, c.url+"/chat/send", `{"chat_id":"door3","input":{"text":"hi"}}`)
	require.Equal(t, http.StatusAccepted, resp.StatusCode)
	require.NoError(t, resp.Body.Close())
	c.holds(t, client, call{409, "POST", "/agui/{chat_id}", "/agui/door3", input(`"on_active":"reject"`), nil, "already_streaming", ""})
	c.holds(t, client, call{409, "POST", "/api/chat", "", ui("door3", `,"on_active":"reject"`), nil, "already_streaming", ""})
}
