package relay_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/active"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/subjects"
)

// follow reads a stream of live runs until it has seen so many end, each once.
func follow(body io.Reader, ends int) error {
	dec := consumer.NewDecoder(bufio.NewReaderSize(body, 1<<10))
	ended := map[string]bool{}
	for len(ended) < ends {
		m, err := dec.Next()
		if err != nil {
			return err
		}
		if m.Event == "snapshot" {
			continue
		}
		var r liveRun
		if err := json.Unmarshal(m.Data, &r); err != nil {
			return err
		}
		if ended[r.RunID] {
			return fmt.Errorf("%s is told of after its end", r.RunID)
		}
		ended[r.RunID] = r.State == runs.StateEnded
		if !ended[r.RunID] {
			delete(ended, r.RunID)
		}
	}
	return nil
}

// Hundreds of subscribers and a burst of changes: all are told all of it, those that read
// nothing cost the others nothing, and when they have gone nothing is left, here or at the
// broker. What becomes of those that read nothing is in TestWhoFallsBehindBeginsAnew.
func TestManySubscribersAndABurst(t *testing.T) {
	t.Parallel()
	const readers, silent, burst = 300, 10, 15
	f := newFeed(t, active.Config{Grace: time.Millisecond}, func(c *relay.Config) { c.WriteTimeout = patience })
	// The store has its own subscription from the first record on.
	(&run{f: f, entry: &runs.Entry{RunID: f.store.NewRunID(), Writer: "w"}}).append(subjects.Record{Kind: subjects.KindStart})
	before := f.store.Conn().NumSubscriptions()
	transport := &http.Transport{DisableCompression: true, DisableKeepAlives: true}
	client := &http.Client{Transport: transport}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var told sync.WaitGroup
	for range readers {
		told.Go(func() {
			resp, err := client.Do(request(ctx, t, http.MethodGet, f.url+"/runs/active", ""))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if err := follow(resp.Body, burst); err != nil {
				t.Error(err)
			}
		})
	}
	var gone []func()
	for range silent {
		gone = append(gone, f.ignore("/runs/active"))
	}
	f.watching(readers + silent)
	st, err := f.store.JetStream().Stream(t.Context(), subjects.BucketStream)
	require.NoError(t, err)
	require.Zero(t, st.CachedInfo().State.Consumers)

	for i := range burst {
		f.start(fmt.Sprint(i)).finish(done)
	}
	told.Wait()
	f.watching(silent)

	for _, leave := range gone {
		leave()
	}
	f.watching(0)
	require.Eventually(t, func() bool { return f.store.Conn().NumSubscriptions() == before },
		patience, 10*time.Millisecond, "what was for the subscribers is left")
}

// ignore asks for a stream, and never reads from it.
func (f *fabric) ignore(path string) (leave func()) {
	f.t.Helper()
	conn, err := new(net.Dialer).DialContext(f.t.Context(), "tcp", strings.TrimPrefix(f.url, "http://"))
	require.NoError(f.t, err)
	f.t.Cleanup(func() { conn.Close() })
	require.NoError(f.t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
	require.NoError(f.t, err)
	return func() { conn.Close() }
}
