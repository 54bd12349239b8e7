package agui_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/agui"
)

// posted is what an agent was asked.
type posted struct {
	header http.Header
	host   string
	body   string
}

// asking serves a finished run and remembers the request.
func asking(t *testing.T) (string, *posted) {
	p := &posted{}
	return server(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*p = posted{r.Header.Clone(), r.Host, string(body)}
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, data(started, finished))
	}), p
}

func TestAClientsInputIsSentAsItIs(t *testing.T) {
	t.Parallel()
	url, got := asking(t)
	input := "{\n \"threadId\":\"t\", \"runId\":\"r\", \"messages\":[], \"unknown\":1.0}"
	earlier := func(context.Context, *agent.Request) (agui.Earlier, error) { panic("nobody needs it") }
	require.NoError(t, run(t, agui.Config{URL: url, Earlier: earlier}, newTurn(input)))
	require.Equal(t, input, got.body)
	require.Equal(t, "text/event-stream", got.header.Get("Accept"))
	require.Equal(t, "application/json", got.header.Get("Content-Type"))
}

func TestATextBecomesAnInput(t *testing.T) {
	t.Parallel()
	url, got := asking(t)
	earlier := func(_ context.Context, r *agent.Request) (agui.Earlier, error) {
		require.Equal(t, "chat", r.ChatID)
		return agui.Earlier{State: json.RawMessage(`{"n":1.50}`), Messages: []json.RawMessage{
			json.RawMessage(`{"id":"1","role":"user","content":"a"}`), json.RawMessage(`{"id":"2","role":"assistant","content":"b"}`)}}, nil
	}
	require.NoError(t, run(t, agui.Config{URL: url, Earlier: earlier}, newTurn(`{"text":"<hi>\n"}`)))
	require.Equal(t, `{"threadId":"chat","runId":"0run","state":{"n":1.50},"messages":[{"id":"1","role":"user","content":"a"},{"id":"2","role":"assistant","content":"b"},{"id":"user-0run","role":"user","content":"<hi>\n"}],"tools":[],"context":[],"forwardedProps":{},"protocolVersion":"1.0"}`, got.body)

	require.NoError(t, run(t, agui.Config{URL: url}, newTurn(`{"resume":[{"interruptId":"i","status":"resolved","payload":true}],"state":{"n":1}}`)))
	require.Equal(t, `{"threadId":"chat","runId":"0run","state":{"n":1},"messages":[],"tools":[],"context":[],"forwardedProps":{},"protocolVersion":"1.0","resume":[{"interruptId":"i","status":"resolved","payload":true}]}`, got.body)

	require.NoError(t, run(t, agui.Config{URL: url, Earlier: earlier}, newTurn(`{"text":"hi","state":{"own":true}}`)))
	require.Contains(t, got.body, `"state":{"own":true}`)

	fails := func(context.Context, *agent.Request) (agui.Earlier, error) {
		return agui.Earlier{}, errors.New("secret")
	}
	err := run(t, agui.Config{URL: url, Earlier: fails}, newTurn(`{"text":"hi"}`))
	require.ErrorIs(t, err, agui.ErrEarlier)
	require.NotContains(t, err.Error(), "secret")
}

func TestHeadersAreForwarded(t *testing.T) {
	t.Parallel()
	url, got := asking(t)
	turn := newTurn(`{"text":"hi"}`)
	turn.req.Header = map[string]string{
		"Authorization": "Bearer user", "X-Tenant": "a", "X-Key": "client's", "Connection": "close, X-Hop", "X-Hop": "1", "Host": "evil",
		"Content-Length": "3", "Transfer-Encoding": "gzip", "Accept": "text/html", "Content-Type": "text/plain", "Accept-Encoding": "gzip", "Te": "trailers",
		"X-Bad": "a\r\nX-Injected: 1", "X Bad": "1", "": "1",
	}
	require.NoError(t, run(t, agui.Config{URL: url, Header: http.Header{"X-Key": {"operator's"}, "X-More": {"1", "2"}}}, turn))
	require.Equal(t, "Bearer user", got.header.Get("Authorization"))
	require.Equal(t, "a", got.header.Get("X-Tenant"))
	require.Equal(t, []string{"operator's"}, got.header.Values("X-Key"))
	require.Equal(t, []string{"1", "2"}, got.header.Values("X-More"))
	require.Equal(t, "text/event-stream", got.header.Get("Accept"))
	require.Equal(t, "identity", got.header.Get("Accept-Encoding"))
	for _, name := range []string{"X-Hop", "Te", "X-Bad", "X-Injected", "Connection"} {
		require.Empty(t, got.header.Values(name), name)
	}
	require.Equal(t, strings.TrimPrefix(url, "http://"), got.host)

	require.NoError(t, run(t, agui.Config{URL: url, Header: http.Header{"Host": {"agents.example"}}}, turn))
	require.Equal(t, "agents.example", got.host)
}

func TestARefusalIsTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status     int
		kind, body string
		is         error
		says       string
	}{
		{500, "application/json", `{"detail":"out of <b>memory</b>"}`, agui.ErrStatus, "the agent answered with status 500: out of <b>memory</b>"},
		{422, "application/json", `{"detail":[{"loc":["body"]}]}`, agui.ErrStatus, `the agent answered with status 422: {"detail":[{"loc":["body"]}]}`},
		{401, "application/json", `{"error":{"message":"no\u0000 \u202ekey"}}`, agui.ErrStatus, "the agent answered with status 401: no key"},
		{503, "text/plain", "a\r\nb\x00\xff", agui.ErrStatus, "the agent answered with status 503: a b \uFFFD"},
		{404, "", "", agui.ErrStatus, "the agent answered with status 404"},
		{204, "text/event-stream", "", agui.ErrStatus, "the agent answered with status 204"},
		{201, "text/event-stream", data(started, finished), agui.ErrStatus, ""},
		{200, "application/json", `{"error":"busy"}`, agui.ErrNotEvents, "the agent's answer is not a stream of events: it says busy"},
		{200, "text/html", "", agui.ErrNotEvents, "the agent's answer is not a stream of events"},
		{200, "text/event-stream", "", agui.ErrNoTerminal, ""},
		{200, "text/plain", "hello", agui.ErrNoTerminal, ""},
	} {
		url := server(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			w.WriteHeader(c.status)
			if c.status != 204 {
				_, _ = io.WriteString(w, c.body)
			}
		})
		err := run(t, agui.Config{URL: url}, newTurn(`{"text":"hi"}`))
		require.ErrorIs(t, err, c.is)
		if c.says != "" {
			require.Equal(t, c.says, err.Error())
		}
	}
	// However much it says, little is shown.
	url := server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(500)
		for range 1000 {
			if _, err := io.WriteString(w, strings.Repeat("é ", 1000)); err != nil {
				return
			}
		}
	})
	err := run(t, agui.Config{URL: url}, newTurn(`{"text":"hi"}`))
	require.Less(t, len(err.Error()), 400)
	var status *agui.StatusError
	require.ErrorAs(t, err, &status)
	require.Equal(t, 500, status.Status)
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "agent", "ftp://x", "http://", "http://%zz", "://", "localhost:8000"} {
		_, err := agui.New(agui.Config{URL: url})
		require.Error(t, err, url)
	}
	given := &http.Client{}
	_, err := agui.New(agui.Config{URL: "https://agents.example/run?x=1", Client: given})
	require.NoError(t, err)
	require.Nil(t, given.CheckRedirect, "what is given stays as it is")
}
