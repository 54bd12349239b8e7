package chaos_test

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/worker"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
	"github.com/rejoin/rejoin/test/proxy"
)

// seedEnv chooses what happens; what it was is logged. The order in which
// goroutines get round to it is not repeated.
const seedEnv = "REJOIN_CHAOS_SEED"

const (
	modelChats   = 6
	modelClients = 6
	modelOps     = 40 // of each client
)

// taken is a message that was accepted.
type taken struct {
	number, chat string
	run          subjects.RunID
	sender       int
	queued       bool // sent to wait for its turn
}

// model is the random test under way.
type model struct {
	*world
	*book
	seed    uint64
	workers [2]*harness.Worker
	counter atomic.Int64 // messages so far
	ops     atomic.Int64

	mu        sync.Mutex
	announced map[subjects.RunID]string // chat by run
	order     []subjects.RunID
	taken     []taken
	outcomes  map[string][]string // accepted answers by request id
	tokens    map[string]subjects.RunID
	views     []*view
	watching  sync.WaitGroup
}

// view is what a client saw of a run.
type view struct {
	chat  string
	run   subjects.RunID
	after uint64 // cursor it began at; 0 once a snapshot came, of another run where that one was saved
	seen  harness.Seen
	err   error
}

func TestModel(t *testing.T) {
	seed := rand.Uint64()
	if s := os.Getenv(seedEnv); s != "" {
		var err error
		seed, err = strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("%s=%d", seedEnv, seed)
	m := &model{world: newWorld(t, harness.Config{Broker: harness.Networked(t), Lease: 2 * time.Second, Log: os.Getenv(seedEnv) != ""}),
		book: newBook(), seed: seed, announced: map[subjects.RunID]string{}, outcomes: map[string][]string{}, tokens: map[string]subjects.RunID{}}
	for i := range m.workers {
		m.workers[i] = m.Worker(acting{book: m.book, steerable: i == 0}, worker.Config{Concurrency: 12, StopPatience: 200 * time.Millisecond})
	}
	watch, leave := context.WithTimeout(context.Background(), harness.Patience)
	defer leave()
	defer m.watching.Wait()
	var clients, trouble sync.WaitGroup
	over := make(chan struct{})
	trouble.Go(func() { m.trouble(over) })
	for i := range modelClients {
		clients.Go(func() {
			c := &client{model: m, n: i, Rand: rand.New(rand.NewPCG(seed, uint64(i))), ctx: watch}
			for range modelOps {
				c.step()
				m.ops.Add(1)
				time.Sleep(c.upTo(200 * time.Millisecond)) // the pace of a person
			}
		})
	}
	from := time.Now()
	clients.Wait()
	close(over)
	trouble.Wait()
	close(m.release)
	m.Log("quiet after", time.Since(from))
	m.judge()
	m.Log("judged after", time.Since(from))
}

// trouble cuts connections, and restarts the broker twice.
func (m *model) trouble(over <-chan struct{}) {
	r := rand.New(rand.NewPCG(m.seed, 1000))
	victims := []*proxy.Proxy{m.relays[0].Proxy, m.relays[1].Proxy, m.workers[0].Proxy, m.workers[1].Proxy}
	restarts := int64(0)
	for {
		select {
		case <-over:
			return
		case <-time.After(time.Duration(r.IntN(400)) * time.Millisecond):
		}
		victim := r.IntN(len(victims))
		p, away := victims[victim], time.Duration(r.IntN(400))*time.Millisecond
		if victim > 1 && r.IntN(8) == 0 {
			away = 3 * time.Second // longer than its lease
		}
		switch {
		case m.ops.Load() > (restarts+1)*modelClients*modelOps/3 && restarts < 2:
			restarts++
			if err := m.Broker.Restart(); err != nil {
				m.Errorf("restart: %v", err)
			}
		case r.IntN(2) == 0:
			p.Cut()
		default:
			p.Refuse(true)
			p.Cut()
			time.Sleep(away) // the outage's length
			p.Refuse(false)
		}
	}
}
