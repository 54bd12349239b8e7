package agui_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	internal "github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/producer/agui"
)

const (
	started  = `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`
	delta    = `{ "type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"\ud83d \u00e9é😀 [DONE]" ,"x":1.50}`
	finished = `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`
	failed   = `{"type":"RUN_ERROR","message":"no"}`
)

func data(events ...string) (body string) {
	for _, e := range events {
		body += "data: " + e + "\n\n"
	}
	return body
}

func TestEventsPassByteForByte(t *testing.T) {
	t.Parallel()
	want := []string{started, delta, finished}
	for name, body := range map[string]string{
		"plain":            data(want...),
		"CRLF":             strings.ReplaceAll(data(want...), "\n", "\r\n"),
		"CR":               strings.ReplaceAll(data(want...), "\n", "\r"),
		"no space":         strings.ReplaceAll(data(want...), "data: ", "data:"),
		"a mark first":     "\ufeff" + data(want...),
		"comments":         ": hello\n\n:\n" + strings.ReplaceAll(data(want...), "\n\n", "\n: ping\n\n"),
		"other fields":     "retry: 5\n" + strings.ReplaceAll(data(want...), "data: ", "event: message\nid: 7\ndatabase: 1\nunknown\ndata: "),
		"empty events":     "data\n\ndata:\n\ndata:  \n\n" + data(want...),
		"done":             data(started, delta, "[DONE]", finished, "[DONE]"),
		"lines":            strings.ReplaceAll(data(want...), `,"`, ",\ndata: \""),
		"lines and CRLF":   strings.ReplaceAll(strings.ReplaceAll(data(want...), `,"`, ",\ndata: \""), "\n", "\r\n"),
		"no empty line":    strings.TrimSuffix(data(want...), "\n"),
		"no line end":      strings.TrimSuffix(data(want...), "\n\n"),
		"after the end":    data(want...) + data("{", "nothing", "[DONE]"),
		"long empty lines": strings.Repeat("\n", 100_000) + data(want...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			turn := newTurn(`{"text":"hi"}`)
			require.NoError(t, run(t, agui.Config{URL: streaming(t, body)}, turn))
			require.Equal(t, want, turn.events)
		})
	}
}

func TestRunErrorIsTheEnd(t *testing.T) {
	t.Parallel()
	turn := newTurn(`{"text":"hi"}`)
	require.NoError(t, run(t, agui.Config{URL: streaming(t, data(started, failed, started, finished))}, turn))
	require.Equal(t, []string{started, failed}, turn.events)
}

func TestARunMayFollowAFinishedOne(t *testing.T) {
	t.Parallel()
	want := []string{started, finished, started, delta, finished}
	turn := newTurn(`{"text":"hi"}`)
	require.NoError(t, run(t, agui.Config{URL: streaming(t, data(want...))}, turn))
	require.Equal(t, want, turn.events)

	// And has to finish like the first.
	turn = newTurn(`{"text":"hi"}`)
	require.ErrorIs(t, run(t, agui.Config{URL: streaming(t, data(want[:4]...))}, turn), agui.ErrNoTerminal)
	require.Equal(t, want[:4], turn.events)
}

// The recordings of stock agents pass as they are, but for a RUN_FINISHED that the agent
// goes on after.
func TestStockAgents(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../../test/agui/testdata/*.sse")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		name := strings.TrimSuffix(path, ".sse")
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		lines, err := os.ReadFile(name + ".ndjson")
		require.NoError(t, err)
		input, err := os.ReadFile(name + ".input.json")
		require.NoError(t, err)
		want := strings.Split(strings.TrimSuffix(string(lines), "\n"), "\n")
		for i, line := range want[:len(want)-1] {
			if strings.Contains(line, `"type":"RUN_FINISHED"`) {
				want[i] = aside(line)
			}
		}
		turn := newTurn(string(input))
		require.NoError(t, run(t, agui.Config{URL: streaming(t, string(body))}, turn), name)
		require.Equal(t, want, turn.events, name)
	}
}

// chunked is an HTTP answer whose body ends where the connection does, unless it is whole.
func chunked(body string, whole bool) string {
	answer := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	if body != "" {
		answer += fmt.Sprintf("%x\r\n%s\r\n", len(body), body)
	}
	if whole {
		answer += "0\r\n\r\n"
	}
	return answer
}

// Wherever an answer is cut, before its terminal event is there, the turn fails; what
// came before is published.
func TestACutAnswerIsAnError(t *testing.T) {
	t.Parallel()
	all := []string{started, delta, finished}
	body := data(all...)
	end := strings.LastIndex(body, "}") + 1
	for _, whole := range []bool{true, false} {
		for cut := range end {
			turn := newTurn(`{"text":"hi"}`)
			err := run(t, agui.Config{URL: raw(t, chunked(body[:cut], whole))}, turn)
			n := strings.Count(body[:cut], "\n\n")
			if whole {
				require.True(t, isAny(err, agui.ErrNoTerminal, agui.ErrMalformed), "cut at %d: %v", cut, err)
				n = strings.Count(body[:cut]+"\n\n", "}\n") // what is there is there
			} else {
				require.ErrorIs(t, err, agui.ErrBroken, "cut at %d", cut)
			}
			require.Equal(t, strings.Join(all[:n], "\n"), strings.Join(turn.events, "\n"), "cut at %d", cut)
		}
	}
	// Once the terminal event is there, nothing is missing.
	for _, cut := range []int{end + 2, len(body)} {
		turn := newTurn(`{"text":"hi"}`)
		require.NoError(t, run(t, agui.Config{URL: raw(t, chunked(body[:cut], false))}, turn))
		require.Len(t, turn.events, 3)
	}
}

func TestWhatIsNoEventIsAnError(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{`{"type":"X"`, `nothing`, `{}`, `{"type":""}`, `[]`, `{"type":"X"}{"type":"Y"}`, "{\"type\":\"\xff\"}", "null"} {
		turn := newTurn(`{"text":"hi"}`)
		err := run(t, agui.Config{URL: streaming(t, data(started, bad, finished))}, turn)
		require.ErrorIs(t, err, agui.ErrMalformed, bad)
		require.Equal(t, []string{started}, turn.events)
	}
}

func TestALargeEventIsAnError(t *testing.T) {
	t.Parallel()
	fits := `{"type":"RAW","event":"` + strings.Repeat("x", 1000-25) + `"}`
	require.Len(t, fits, 1000)
	turn := newTurn(`{"text":"hi"}`)
	require.NoError(t, run(t, agui.Config{URL: streaming(t, data(started, fits, finished)), MaxEventBytes: 1000}, turn))
	for name, body := range map[string]string{
		"a byte more":    data(started, fits+" ", finished),
		"without end":    data(started) + "data: " + strings.Repeat("x", 100_000),
		"in lines":       data(started) + strings.Repeat("data: 0123456789\n", 1000) + "\n",
		"a comment":      data(started) + ":" + strings.Repeat("x", 100_000),
		"of empty lines": data(started) + strings.Repeat("data\n", 5000),
	} {
		turn := newTurn(`{"text":"hi"}`)
		err := run(t, agui.Config{URL: streaming(t, body), MaxEventBytes: 1000}, turn)
		require.ErrorIs(t, err, agui.ErrTooLarge, name)
		require.Equal(t, []string{started}, turn.events, name)
	}
}

// pieces is a body that comes in reads of a size.
type pieces struct {
	rest string
	size int
}

func (p *pieces) Close() error { return nil }
func (p *pieces) Read(b []byte) (int, error) {
	if p.rest == "" {
		return 0, io.EOF
	}
	n := copy(b, p.rest[:min(p.size, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}

// FuzzStream: however an answer is cut into reads, the same is published and the same
// comes of it, and all of it is events.
func FuzzStream(f *testing.F) {
	f.Add([]byte(data(started, delta, finished)), uint16(1))
	f.Add([]byte("\ufeffdata\r\n\r\rdata: {\r\ndata:\"type\":\"RUN_ERROR\"}\n\n: x\nevent: y"), uint16(3))
	f.Fuzz(func(t *testing.T, body []byte, size uint16) {
		answer := func(size int) ([]string, string) {
			client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Header: http.Header{}, Body: &pieces{string(body), size}, Request: r}, nil
			})}
			a, err := agui.New(agui.Config{URL: "http://agent", Client: client, MaxEventBytes: 300})
			require.NoError(t, err)
			turn := newTurn(`{"text":"hi"}`)
			err = a.Run(t.Context(), turn)
			return turn.events, fmt.Sprint(err)
		}
		events, outcome := answer(int(size) + 1)
		again, same := answer(len(body) + 1)
		require.Equal(t, again, events)
		require.Equal(t, same, outcome)
		var e internal.Event
		for _, raw := range events {
			require.NoError(t, internal.Scan([]byte(raw), &e))
			require.NotContains(t, raw, "\n")
		}
	})
}
