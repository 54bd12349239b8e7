package agui_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/agui"
)

const (
	result   = `{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":"1"}`
	snapshot = `{"type":"STATE_SNAPSHOT","snapshot":{"n":1}}`
	tomorrow = `{"type":"OF_TOMORROW"}`
)

// aside is a RUN_FINISHED that did not finish the run.
func aside(event string) string { return `{"type":"RAW","event":` + event + `}` }

// Agents that end each of their steps with RUN_FINISHED are read to the last one, and
// everything that they say is published before it.
func TestAnAgentMayGoOnAfterItHasFinished(t *testing.T) {
	t.Parallel()
	second := `{"type":"RUN_FINISHED","threadId":"t","runId":"r","result":2}`
	for name, c := range map[string]struct {
		sent, want []string
		err        error
	}{
		"with another step":     {[]string{started, finished, result, delta, second}, []string{started, aside(finished), result, delta, second}, nil},
		"and finish twice":      {[]string{started, finished, second}, []string{started, aside(finished), second}, nil},
		"and fail":              {[]string{started, finished, failed, second}, []string{started, aside(finished), failed}, nil},
		"and break off":         {[]string{started, finished, result}, []string{started, aside(finished), result}, agui.ErrNoTerminal},
		"and send no event":     {[]string{started, finished, delta, "{", second}, []string{started, aside(finished), delta}, agui.ErrMalformed},
		"to add to it":          {[]string{started, finished, snapshot, tomorrow}, []string{started, snapshot, tomorrow, finished}, nil},
		"to add, and then more": {[]string{started, finished, snapshot, delta, second}, []string{started, snapshot, aside(finished), delta, second}, nil},
		"with another run":      {[]string{started, finished, started, finished, result, second}, []string{started, finished, started, aside(finished), result, second}, nil},
		"before it has begun":   {[]string{result, started, delta, finished}, []string{result, aside(started), delta, finished}, nil},
		"and begin, in the end": {[]string{result, finished, started, delta, finished}, []string{result, finished, started, delta, finished}, nil},
		"and begin, in between": {[]string{result, finished, delta, started, finished}, []string{result, aside(finished), delta, aside(started), finished}, nil},
		"with two beginnings":   {[]string{started, started, finished}, []string{started, started, finished}, nil},
	} {
		turn := newTurn(`{"text":"hi"}`)
		require.ErrorIs(t, run(t, agui.Config{URL: streaming(t, data(c.sent...))}, turn), c.err, name)
		require.Equal(t, c.want, turn.events, name)
	}
}

// An agent that keeps the connection alive for ever is finished all the same, and one
// that goes on in time has all of the usual time again.
func TestWhatIsFinishedDoesNotLinger(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		_, _ = io.WriteString(w, data(started, finished))
		if r.URL.Path == "/on" {
			_, _ = io.WriteString(w, data(result))
			_ = rc.Flush()
			<-goOn // for longer than a finished answer is waited for
			_, _ = io.WriteString(w, data(delta, finished))
			return
		}
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, ": ping\n\n")
			_ = rc.Flush()
			time.Sleep(time.Millisecond) // between pings
		}
	})
	cfg := agui.Config{URL: url, Linger: 100 * time.Millisecond}
	turn := newTurn(`{"text":"hi"}`)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, newAgent(t, cfg).Run(ctx, turn))
	require.NoError(t, ctx.Err(), "nobody had to end it")
	require.Equal(t, []string{started, finished}, turn.events)

	cfg.URL += "/on"
	time.AfterFunc(3*cfg.Linger, func() { close(goOn) })
	turn = newTurn(`{"text":"hi"}`)
	require.NoError(t, run(t, cfg, turn))
	require.Equal(t, []string{started, aside(finished), result, delta, finished}, turn.events)
}
