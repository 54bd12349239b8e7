package chaos_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/worker"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// cluster starts three servers that replicate.
func cluster(t *testing.T) (servers []*natsd.Server) {
	t.Helper()
	var routes []*url.URL
	for range 3 {
		addr := harness.FreeAddr(t)
		routes = append(routes, &url.URL{Scheme: "nats", Host: addr})
	}
	for i, route := range routes {
		s, err := natsd.Start(natsd.Config{Listen: "127.0.0.1:0", Name: fmt.Sprintf("n%d", i), Tune: func(o *server.Options) {
			o.Cluster.Name, o.Cluster.Host, o.Routes = "c", "127.0.0.1", routes
			_, port, _ := net.SplitHostPort(route.Host)
			_, _ = fmt.Sscan(port, &o.Cluster.Port)
		}})
		require.NoError(t, err)
		t.Cleanup(s.Shutdown)
		servers = append(servers, s)
	}
	return servers
}

// member connects to one server of a cluster, as soon as that can serve.
func member(t *testing.T, s *natsd.Server) (*nats.Conn, *runs.Store) {
	t.Helper()
	nc, err := s.Connect(nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	var store *runs.Store
	harness.Eventually(t, "the cluster serves", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		store, err = runs.Open(ctx, nc, runs.Config{Provision: true, Partitions: 1, Replicas: 3})
		return err == nil
	})
	t.Cleanup(store.Close)
	return nc, store
}

// Leaders step down while turns are sent through one server and claimed through two
// others, and controls are given. Each turn is answered once, with the answer that was given.
func TestLeadersStepDownUnderTurns(t *testing.T) {
	t.Parallel()
	servers := cluster(t)
	nc, store := member(t, servers[0])
	var mu sync.Mutex
	begun, got := map[subjects.RunID]int{}, map[subjects.RunID]string{}
	asks := agent.Func(func(ctx context.Context, t agent.Turn) error {
		id := t.Request().RunID
		mu.Lock()
		begun[id]++
		mu.Unlock()
		a, err := t.Ask(ctx, agent.Question{Name: "test.permission", Options: []string{"yes", "no"}})
		mu.Lock()
		got[id] = string(a.Outcome)
		mu.Unlock()
		return err
	})
	for _, s := range servers[1:] {
		conn, _ := member(t, s)
		w, err := worker.Connect(context.Background(), conn, asks, worker.Options{})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(context.Background())
		over := make(chan error, 1)
		go func() { over <- w.Run(ctx) }()
		t.Cleanup(func() {
			stop()
			require.NoError(t, <-over)
		})
	}
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	defer cancel()
	swept := make(chan struct{})
	sweeping, stopSweeping := context.WithCancel(ctx)
	go func() {
		defer close(swept)
		runs.NewJanitor(store, runs.JanitorConfig{}).Run(sweeping)
	}()
	defer func() { stopSweeping(); <-swept }()
	quiet := make(chan struct{})
	var trouble sync.WaitGroup
	trouble.Go(func() {
		for _, stream := range []string{subjects.TurnsStream, subjects.BucketStream, subjects.ControlStream, subjects.RunsStream(0), subjects.BucketStream, subjects.TurnsStream} {
			_, _ = nc.Request("$JS.API.STREAM.LEADER.STEPDOWN."+stream, nil, 2*time.Second) // without a leader there is none to step down
			select {
			case <-quiet:
				return
			case <-time.After(300 * time.Millisecond):
			}
		}
	})
	q := turns.New(store, turns.Config{})
	var all sync.WaitGroup
	ends := make([]*runs.Entry, 40)
	for i := range ends {
		all.Go(func() {
			time.Sleep(rand.N(1500 * time.Millisecond)) // while leaders step down
			chat := fmt.Sprint(i)
			var sent turns.Sent
			insist(ctx, t, func() (err error) {
				sent, err = q.Send(ctx, turns.SendRequest{ChatID: chat, Input: json.RawMessage(`{"text":"x"}`), ClientToken: "t"})
				return err
			})
			insist(ctx, t, func() error {
				_, err := q.Answer(ctx, turns.AnswerRequest{ChatID: chat, RunID: sent.RunID, RequestID: string(sent.RunID) + ":1", Outcome: json.RawMessage(yes)})
				return err
			})
			insist(ctx, t, func() (err error) {
				if ends[i], err = store.Entry(ctx, sent.RunID); err == nil && ends[i].End == nil {
					err = fmt.Errorf("run %s is %s", sent.RunID, ends[i].State)
				}
				return err
			})
		})
	}
	all.Wait()
	close(quiet)
	trouble.Wait()
	mu.Lock()
	defer mu.Unlock()
	for _, e := range ends {
		require.Equal(t, &subjects.End{Persisted: true, Reason: subjects.ReasonDone}, e.End, "run %s", e.RunID)
		require.Equal(t, 1, begun[e.RunID])
		require.Equal(t, yes, got[e.RunID])
	}
}

// insist does something until it succeeds.
func insist(ctx context.Context, t *testing.T, do func() error) {
	for {
		err := do()
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Error(err)
			return
		}
		time.Sleep(20 * time.Millisecond) // the pace of who repeats
	}
}
