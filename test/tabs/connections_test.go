package tabs_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// TAB-01: a browser has six connections to a host over plain HTTP/1.1. When streams have
// them all, whatever comes from elsewhere is answered all the same, and what the browser
// itself has to say goes out as soon as one stream ends.
func TestTAB01_SixConnections(t *testing.T) {
	t.Parallel()
	r := newRig(t, relay.Config{})
	browser, elsewhere := r.browser(6), r.plain()
	var ids []subjects.RunID
	var opens []func()
	var tabs []*tab
	for i := range 5 {
		said := fmt.Sprint("held", i)
		opens = append(opens, r.hold(said))
		ids = append(ids, r.send(elsewhere, said, said))
		tabs = append(tabs, r.open(browser, 0, http.MethodPost, "/chat/live", harness.Live(said)))
	}
	feed := r.open(browser, 0, http.MethodGet, "/runs/active", "")
	require.Equal(t, 1, feed.ProtoMajor)
	seventh := make(chan said, 1)
	go func() {
		seventh <- r.do(browser, 0, http.MethodPost, "/chat/send", `{"chat_id":"later","input":{"text":"later"}}`)
	}()

	r.half(tabs[0], "held0")
	r.send(elsewhere, "other", "other")
	stop := fmt.Sprintf(`{"chat_id":"held0","run_id":%q}`, ids[0])
	require.Equal(t, http.StatusAccepted, r.do(elsewhere, 0, http.MethodPost, "/chat/stop", stop).Status)
	seen, err := harness.See(r.within(), tabs[0], nil)
	require.NoError(t, err)
	require.Equal(t, subjects.ReasonStopped, seen.End.Reason)
	require.Equal(t, http.StatusAccepted, (<-seventh).Status, "there was a connection again")

	for i := 1; i < 5; i++ {
		opens[i]()
		seen, err := harness.See(r.within(), tabs[i], nil)
		require.NoError(t, err)
		require.Equal(t, answerTo(fmt.Sprint("held", i)), text(seen.Events...))
	}
}

// TAB-01: over HTTP/2, in clear text here and negotiated behind TLS, one connection is
// enough for any number of tabs.
func TestTAB01_OneConnectionOverHTTP2(t *testing.T) {
	t.Parallel()
	r := newRig(t, relay.Config{})
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	var dials atomic.Int32
	transport := &http.Transport{Protocols: protocols, DisableCompression: true,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials.Add(1)
			return new(net.Dialer).DialContext(ctx, network, addr)
		}}
	t.Cleanup(transport.CloseIdleConnections)
	browser := &http.Client{Transport: transport}
	var tabs []*tab
	var opens []func()
	for i := range 20 {
		said := fmt.Sprint("held", i)
		opens = append(opens, r.hold(said))
		r.send(browser, said, said)
		tabs = append(tabs, r.open(browser, 0, http.MethodPost, "/chat/live", harness.Live(said)))
		require.Equal(t, 2, tabs[i].ProtoMajor)
	}
	for i, open := range opens {
		open()
		seen, err := harness.See(r.within(), tabs[i], nil)
		require.NoError(t, err)
		require.Equal(t, answerTo(fmt.Sprint("held", i)), text(seen.Events...))
	}
	require.EqualValues(t, 1, dials.Load())
}

// TAB-01: tabs of idle chats give their connections back, whatever time they ask for.
func TestTAB01_WaitingIsBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, relay.Config{MaxWait: 100 * time.Millisecond})
	browser := r.browser(6)
	idle := make(chan said, 6)
	for i := range cap(idle) {
		go func() {
			idle <- r.do(browser, 0, http.MethodPost, "/chat/live", harness.Live(fmt.Sprint("idle", i), "wait_ms", int64(1)<<53-1))
		}()
	}
	harness.Eventually(t, "six wait", func() bool { return r.relays[0].Number("rejoin_waiters") == 6 || len(idle) == 6 })
	r.send(browser, "c", "x")
	for range cap(idle) {
		require.Equal(t, http.StatusNoContent, (<-idle).Status)
	}
}
