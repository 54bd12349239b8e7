package relay_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/relay"
)

// lines reads a stream without understanding it.
type lines struct {
	t testing.TB
	b *bufio.Reader
}

func (f *fabric) lines(body string) *lines {
	o := f.live(body)
	return &lines{f.t, bufio.NewReader(o.resp.Body)}
}

// next is the next line that is not blank.
func (l *lines) next() string {
	l.t.Helper()
	for {
		s, err := l.b.ReadString('\n')
		require.NoError(l.t, err)
		if s = strings.TrimSuffix(s, "\n"); s != "" {
			return s
		}
	}
}

// PROXY-02: bytes from the first moment on, and again and again, in every phase;
// they are comments, which move no cursor.
func TestPROXY02_SilenceIsFilled(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *relay.Config) { c.KeepAlive = 5 * time.Millisecond })
	for _, body := range []string{`{"chat_id":"c","protocol":1}`, `{"threadId":"c"}`} {
		r := f.start("c")
		l := f.lines(body)
		require.Equal(t, ":", l.next(), "before anything else")
		seen := 0
		for published, comments := false, 0; seen < 2; {
			switch line := l.next(); {
			case line == ":":
				comments++
				if comments > 5 && !published { // silent before the first event
					published = true
					comments = 0
					r.publish(runStarted)
				}
			case strings.HasPrefix(line, "data: ") && strings.Contains(line, "RUN_STARTED"):
				seen++
				for range 5 { // and after it
					require.Equal(t, ":", l.next())
				}
				seen++
			default:
				require.True(t, strings.HasPrefix(line, "id: ") || strings.Contains(line, "STREAM_SNAPSHOT"), line)
			}
		}
	}
}

// While a request waits for a run nothing is sent, not even a header.
func TestNothingIsSentWhileWaiting(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *relay.Config) { c.KeepAlive = time.Millisecond })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	answered := make(chan *http.Response, 1)
	go func() {
		resp, err := f.client.Do(request(ctx, t, http.MethodPost, f.url+"/chat/live", `{"chat_id":"c","protocol":1,"wait_ms":30000}`))
		if err == nil {
			answered <- resp
		}
		close(answered)
	}()
	f.waiting(1)
	f.idle(`{"chat_id":"c","protocol":1,"wait_ms":100}`) // many keep-alives would fit in this
	select {
	case <-answered:
		t.Fatal("an answer while nothing was there to answer")
	default:
	}
	f.start("c")
	resp := <-answered
	require.NotNil(t, resp)
	resp.Body.Close()
}
