package ingest_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/producer/ingest"
	"github.com/rejoin/rejoin/subjects"
)

// bench is a process that takes events, its broker in another.
type bench struct {
	nc       *nats.Conn
	producer *producer.Producer
	addr     string
	runs     []subjects.RunID
	records  atomic.Int64
}

func newBench(b *testing.B, count int) *bench {
	b.Helper()
	nc, err := nats.Connect(apart(b))
	require.NoError(b, err)
	b.Cleanup(nc.Close)
	ctx := context.Background()
	store, err := runs.Open(ctx, nc, runs.Config{Provision: true})
	require.NoError(b, err)
	b.Cleanup(store.Close)
	s := &bench{nc: nc}
	p, err := producer.Open(ctx, store, producer.Config{Metrics: producer.Metrics{
		Stored: func(int, int, time.Duration) { s.records.Add(1) }}})
	require.NoError(b, err)
	h := ingest.New(ingest.Config{Producer: p})
	router := chi.NewRouter()
	h.Routes(router)
	router.Post("/bare", bare)
	ln, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a benchmark
	require.NoError(b, err)
	srv := &http.Server{Handler: router} //nolint:gosec // a benchmark
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(ln)
	}()
	b.Cleanup(func() {
		_ = h.Close(ctx)
		_ = srv.Close()
		<-served
		_ = p.Close(ctx)
	})
	s.producer, s.addr = p, ln.Addr().String()
	for i := range count {
		resp, err := http.Post("http://"+s.addr+"/runs", "", strings.NewReader(fmt.Sprintf(`{"chat_id":"c%d"}`, i))) //nolint:gosec,noctx // a benchmark
		require.NoError(b, err)
		_ = resp.Body.Close()
		s.runs = append(s.runs, subjects.RunID(strings.TrimPrefix(resp.Header.Get("Location"), "/runs/")))
	}
	http.DefaultClient.CloseIdleConnections()
	return s
}

// bare reads a body and does nothing with it: what HTTP itself costs.
func bare(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	_, _ = w.Write([]byte("{}\n"))
}

func (s *bench) path(run int) string { return "/runs/" + string(s.runs[run]) + "/events" }

// figures of a measured part: its rate, what an event costs this process, client included.
func figures(b *testing.B, events int, took, used time.Duration) float64 {
	b.Helper()
	rate := float64(events) / took.Seconds()
	b.ReportMetric(rate, "events/s")
	b.ReportMetric(float64(used.Nanoseconds())/1000/float64(events), "cpu-µs/event")
	return rate
}

// BenchmarkIngest stores events of 200 bytes that come over HTTP, each run's one after the
// other on a connection of its own, which are stored when they are answered. x-async is how
// many times as many a second as the broker's own asynchronous publish in the same run.
func BenchmarkIngest(b *testing.B) {
	for _, count := range []int{1, 100} {
		for _, size := range []int{1, 64} {
			b.Run(fmt.Sprintf("runs=%d/a-request=%d", count, size), func(b *testing.B) {
				body := lightLines(size)
				feed(b, count, size, func(l *light, path string, next func() bool) error {
					for r := request(path, body); next(); {
						if err := l.do(r); err != nil {
							return err
						}
					}
					return nil
				})
			})
		}
		b.Run(fmt.Sprintf("runs=%d/stream", count), func(b *testing.B) {
			const size = 150
			piece := chunk(lightLines(size))
			feed(b, count, size, func(l *light, path string, next func() bool) error {
				if err := l.open(path); err != nil {
					return err
				}
				for next() {
					if _, err := l.conn.Write(piece); err != nil {
						return err
					}
				}
				return l.end()
			})
		})
	}
}

// feed lets each run be written at once, in pieces of size events, until there were b.N events.
func feed(b *testing.B, count, size int, write func(l *light, path string, next func() bool) error) {
	s := newBench(b, count)
	clients := make([]*light, count)
	for i := range clients {
		clients[i] = dialLight(b, s.addr)
	}
	var given atomic.Int64
	next := func() bool { return given.Add(int64(size)) <= int64(b.N)+int64(size)-1 }
	b.ReportAllocs()
	b.ResetTimer()
	from, before := time.Now(), cpu()
	var wg sync.WaitGroup
	for i, l := range clients {
		wg.Go(func() {
			if err := write(l, s.path(i), next); err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
	took, used := time.Since(from), cpu()-before
	b.StopTimer()
	events := (b.N + size - 1) / size * size
	rate := figures(b, events, took, used)
	b.ReportMetric(float64(events)/float64(s.records.Load()), "events/record")
	b.ReportMetric(rate/asyncRate(b, s.nc), "x-async")
}

// BenchmarkCrowd is many runs at a leisurely pace: 1,000 bodies stay open and each brings an
// event every 50 ms, so that each becomes a record. An operation is one such round. x-bare
// is how many times the CPU of this process is that of the same bodies read and thrown away.
func BenchmarkCrowd(b *testing.B) {
	const count = 1000
	s := newBench(b, count)
	work := crowd(b, s, count, b.N, func(i int) string { return s.path(i) })
	bareCPU := crowd(b, s, count, b.N, func(int) string { return "/bare" })
	b.ReportMetric(float64(work.Nanoseconds())/1000/float64(b.N*count), "cpu-µs/event")
	b.ReportMetric(float64(work)/float64(bareCPU), "x-bare")
}

// crowd gives what so many rounds cost this process.
func crowd(b *testing.B, s *bench, count, rounds int, path func(int) string) time.Duration {
	clients := make([]*light, count)
	for i := range clients {
		clients[i] = dialLight(b, s.addr)
		require.NoError(b, clients[i].open(path(i)))
	}
	piece := chunk(lightLines(1))
	round := func() {
		for _, l := range clients {
			if _, err := l.conn.Write(piece); err != nil {
				b.Fatal(err)
			}
		}
	}
	round() // goroutines and buffers are there
	time.Sleep(100 * time.Millisecond)
	before := cpu()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range rounds {
		<-tick.C
		round()
	}
	<-tick.C
	used := cpu() - before
	var wg sync.WaitGroup
	for _, l := range clients {
		wg.Go(func() {
			if err := l.end(); err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
	return used
}
