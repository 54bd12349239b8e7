package producer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
)

// cluster starts three servers that replicate.
func cluster(t *testing.T) []*natsd.Server {
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
	var servers []*natsd.Server
	for i, port := range ports {
		servers = append(servers, broker(t, natsd.Config{Listen: "127.0.0.1:0", Name: fmt.Sprintf("n%d", i),
			Tune: func(o *server.Options) {
				o.Cluster.Name, o.Cluster.Host, o.Cluster.Port = "c", "127.0.0.1", port
				o.Routes = routes
			}}))
	}
	return servers
}

// The leader of the run's stream steps down again and again while events are published.
func TestBRK03TheLeaderStepsDown(t *testing.T) {
	t.Parallel()
	servers := cluster(t)
	nc, err := servers[0].Connect(nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	var store *runs.Store
	for deadline := time.Now().Add(patience); store == nil; { // until the cluster has a leader
		ctx, cancel := context.WithTimeout(within(t), 5*time.Second)
		store, err = runs.Open(ctx, nc, runs.Config{Provision: true, Partitions: 1, Replicas: 3})
		cancel()
		require.True(t, err == nil || time.Now().Before(deadline), err)
	}
	t.Cleanup(store.Close)
	pr, err := producer.Open(within(t), store, producer.Config{Logger: logger(t)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = pr.Close(within(t)) })
	p := &process{nc: nc, store: store, Producer: pr}

	r := p.start(t, "c")
	const rounds, each = 4, 300
	n := 0
	for range rounds {
		stepDown(t, nc, subjects.RunsStream(0))
		stepDown(t, nc, subjects.BucketStream)
		for range each {
			n++
			_, err := r.Publish(within(t), custom(n))
			require.NoError(t, err)
			if n%3 == 0 {
				_, err = r.Flush(within(t))
				require.NoError(t, err)
			}
		}
	}
	_, err = r.Finish(within(t), producer.FinishOptions{Persisted: true})
	require.NoError(t, err)
	require.Equal(t, n, p.covered(t, r.ID()))
	require.Eventually(t, func() bool { // a replica may lag
		page, err := store.Page(within(t), r.ID(), 0)
		last, lastErr := store.Last(within(t), r.ID())
		return err == nil && lastErr == nil && len(page) > 0 && last.Kind == subjects.KindEnd
	}, patience, 50*time.Millisecond)
	got, _ := p.events(t, r.ID())
	require.Len(t, got, n)
	for i, e := range got {
		require.Equal(t, string(custom(i+1)), string(e))
	}
}

func stepDown(t *testing.T, nc *nats.Conn, stream string) {
	t.Helper()
	reply, err := nc.RequestWithContext(within(t), "$JS.API.STREAM.LEADER.STEPDOWN."+stream, nil)
	require.NoError(t, err)
	var answer struct {
		Error *jetstream.APIError `json:"error"`
	}
	require.NoError(t, json.Unmarshal(reply.Data, &answer))
	// Without a leader at the moment there is none to step down.
	if answer.Error != nil {
		t.Log(stream, answer.Error)
	}
}
