package relay_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/turns"
)

// While the broker is away, whatever is asked of a chat is answered 503 within a bound, and
// nobody is told that it was done.
func TestChatsWithoutABroker(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, nil)
	id := f.send("c", "").RunID
	f.broker.Shutdown()
	var wg sync.WaitGroup
	for path, body := range map[string]string{
		"/chat":            `{"chat_id":"d","input":{"text":"x"}}`,
		"/chat/send":       `{"chat_id":"d","input":{"text":"x"}}`,
		"/chat/steer-send": `{"chat_id":"c","input":{"text":"x"}}`,
		"/chat/stop":       fmt.Sprintf(`{"chat_id":"c","run_id":%q}`, id),
		"/chat/answer":     fmt.Sprintf(`{"chat_id":"c","run_id":%q,"request_id":"q","outcome":{}}`, id),
		"/chat/c/history":  "",
	} {
		wg.Go(func() {
			method := http.MethodPost
			if body == "" {
				method = http.MethodGet
			}
			a := f.do(method, path, body)
			if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
				t.Errorf("%s: %d %s", path, a.status, a.body)
			}
		})
	}
	wg.Wait()
	require.NotContains(t, f.logs.String(), "level=ERROR")
}
