package history_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// cluster starts three servers that replicate, and opens a history at each.
func cluster(t *testing.T) []*fabric {
	t.Helper()
	var routes []*url.URL
	var ports []int
	for range 3 {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		ports = append(ports, ln.Addr().(*net.TCPAddr).Port)
		routes = append(routes, &url.URL{Scheme: "nats", Host: ln.Addr().String()})
		require.NoError(t, ln.Close())
	}
	var all []*fabric
	for i, port := range ports {
		s, err := natsd.Start(natsd.Config{Listen: "127.0.0.1:0", Name: fmt.Sprintf("n%d", i), MaxPayload: 64 << 10,
			Tune: func(o *server.Options) {
				o.Cluster.Name, o.Cluster.Host, o.Cluster.Port = "c", "127.0.0.1", port
				o.Routes = routes
			}})
		require.NoError(t, err)
		t.Cleanup(s.Shutdown)
		all = append(all, &fabric{T: t, server: s})
	}
	for _, f := range all {
		nc, err := f.server.Connect(nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
		require.NoError(t, err)
		t.Cleanup(nc.Close)
		var store *runs.Store
		for deadline := time.Now().Add(patience); store == nil; { // until the cluster has a leader
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			store, err = runs.Open(ctx, nc, runs.Config{Provision: true, Partitions: 1, Replicas: 3})
			cancel()
			require.True(t, err == nil || time.Now().Before(deadline), err)
		}
		t.Cleanup(store.Close)
		f.History, f.js = history.Open(store), store.JetStream()
	}
	return all
}

// The leader steps down again and again while every server has a writer of one chat.
// Whatever was saved is seen at once, from every server, and once.
func TestEveryServerSeesWhatWasSavedAtOnce(t *testing.T) {
	t.Parallel()
	all := cluster(t)
	nc := all[0].js.Conn()
	const each = 12
	var mu sync.Mutex
	want := map[subjects.RunID]bool{}
	var wg sync.WaitGroup
	for w, f := range all {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			for i := range each {
				size := 100
				if i%4 == 0 {
					size = 100 << 10
				}
				one := turn("c", size)
				if err := f.Append(ctx, one); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				want[one.RunID] = true
				mu.Unlock()
				if w == 0 && i%4 == 1 {
					_, _ = nc.RequestWithContext(ctx, "$JS.API.STREAM.LEADER.STEPDOWN."+subjects.HistoryStream, nil)
				}
				other := all[(w+1)%len(all)]
				for { // an election may leave nobody to ask for a while
					has, err := other.Has(ctx, "", "c", one.RunID)
					if err == nil && !has {
						t.Errorf("saved and not seen")
					}
					if err == nil || ctx.Err() != nil {
						break
					}
				}
			}
		})
	}
	wg.Wait()
	var got []history.Turn
	require.Eventually(t, func() (ok bool) {
		var err error
		got, err = all[1].Read(t.Context(), "", "c", history.MaxLimit)
		return err == nil
	}, patience, 50*time.Millisecond)
	require.Len(t, got, 3*each)
	for _, one := range got {
		require.True(t, want[one.RunID])
		delete(want, one.RunID)
	}
}
