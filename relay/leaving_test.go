package relay_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/active"
	"github.com/rejoin/rejoin/internal/auth"
	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/internal/killswitch"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/relay"
)

// Clients leave at whatever moment: before their body is whole, while they wait, while the
// answer comes, over HTTP/1 and HTTP/2. Nothing of them stays, and every limit is as far away
// as it was.
func TestNothingIsHeldForThoseWhoHaveLeft(t *testing.T) {
	t.Parallel()
	const seed1, seed2 = 4, 2
	var feed *active.Feed
	f := resuming(t, &passing{life: 4 * time.Second}, func(c *relay.Config) {
		c.History, c.Turns = history.Open(c.Store), turns.New(c.Store, turns.Config{Logger: c.Logger})
		feed = active.New(active.Config{Store: c.Store, Logger: c.Logger})
		c.Active = feed
		w, err := killswitch.Open(t.Context(), killswitch.Config{Store: c.Store, Logger: c.Logger})
		require.NoError(t, err)
		t.Cleanup(w.Close)
		c.Switch = w
		c.Producer = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-auth.Over(r.Context()):
			case <-r.Context().Done():
			}
		})
		c.Limits = relay.Limits{OwnerObservers: 12, RunObservers: 8}
		c.MaxObservers = 30
	})
	t.Cleanup(feed.Close)
	r := f.startOf("ann", "c")
	r.deltas(50)
	h2 := &http.Transport{Protocols: new(http.Protocols)}
	h2.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(h2.CloseIdleConnections)
	clients := []*http.Client{f.client, {Transport: h2}}
	live := `{"chat_id":"%s","protocol":1,"wait_ms":%d}`
	requests := []struct{ method, path, body, token string }{
		{"POST", "/chat/live", fmt.Sprintf(live, "c", 0), ann},
		{"POST", "/chat/live", fmt.Sprintf(live, "idle", 30000), ann},
		{"POST", "/chat/live", fmt.Sprintf(live, "idle", 30000), "t/bob/observer"},
		{"GET", "/chat/live?chat_id=c", "", ann},
		{"GET", "/runs/active", "", ann},
		{"GET", "/runs/active", "", "t/bob/observer"},
		{"GET", "/chat/c/history", "", ann},
		{"GET", "/chat/c/session", "", ann},
		{"GET", "/runs/" + r.id() + "/snapshot", "", ann},
		{"GET", "/runs/" + r.id() + "/controls", "", "t/svc/producer"},
		{"POST", "/runs/" + r.id() + "/events", strings.Repeat("{}\n", 10), "t/svc/producer"},
		{"POST", "/chat", `{"chat_id":"d","protocol":1,"on_active":"supersede","input":{"text":"hi"}}`, ann},
		{"POST", "/chat/send", `{"chat_id":"e","on_active":"supersede","input":{"text":"hi"}}`, ann},
		{"PUT", "/admin/switch", `{"percent":30}`, "t/boss/admin"},
		{"PUT", "/admin/switch", `{"percent":0}`, "t/boss/admin"},
	}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			dice := rand.New(rand.NewPCG(seed1, uint64(seed2+i)))
			for range 40 {
				q := requests[dice.IntN(len(requests))]
				most := time.Duration(1) << (10 + dice.IntN(19)) // 1 µs … 270 ms
				ctx, cancel := context.WithTimeout(t.Context(), most)
				var body io.Reader = strings.NewReader(q.body)
				if dice.IntN(4) == 0 && q.body != "" { // it never arrives whole
					half, w := io.Pipe()
					body = half
					go func() {
						_, _ = io.WriteString(w, q.body[:len(q.body)/2])
						<-ctx.Done()
						_ = w.CloseWithError(io.ErrUnexpectedEOF)
					}()
				}
				req, err := http.NewRequestWithContext(ctx, q.method, f.url+q.path, body)
				if err == nil {
					req.Header.Set("Authorization", "Bearer "+q.token)
					if resp, err := clients[dice.IntN(2)].Do(req); err == nil {
						_, _ = io.Copy(io.Discard, resp.Body)
						_ = resp.Body.Close()
					}
				}
				cancel()
			}
		})
	}
	wg.Wait()
	require.Eventually(t, func() bool { return f.relay.Leftovers() == "" }, patience, 10*time.Millisecond, "seeds %d, %d", seed1, seed2)
	f.eventually("rejoin_observers", 0)
	f.eventually("rejoin_waiters", 0)
	require.Equal(t, http.StatusOK, f.do(http.MethodPut, "/admin/switch", `{"percent":0}`, as("t/boss/admin")...).status)
	o := f.open(http.MethodPost, "/chat/live", fmt.Sprintf(live, "c", 0), as(ann)...)
	o.until(50)
}
