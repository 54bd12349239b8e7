package relay_test

import (
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/subjects"
)

const (
	observersAtOnce = 1000
	pace            = 20 * time.Millisecond // 50 events a second
)

// marked is an event of 200 bytes with the mark that the crowd counts.
func marked() string {
	const head, tail = `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"~`, `"}`
	return head + strings.Repeat("x", 200-len(head)-len(tail)) + tail
}

func benchFabric(b *testing.B) *fabric {
	return newFabric(b, func(c *relay.Config) {
		c.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	})
}

// ready starts a run that a crowd can tell from nothing.
func (f *fabric) ready() *run {
	r := f.start("c")
	r.publish(`{"type":"CUSTOM","name":"ready","value":"^"}`)
	return r
}

// add appends an event without folding it: the run is only watched.
func (r *run) add(event string) {
	r.seq++
	r.append(subjects.Record{Kind: subjects.KindEvents, Last: r.seq, Count: 1, Body: []byte(event)})
}

// aside gives the clients a thread of their own, on top of those that Go has for a machine of
// this size: one that waits for its sockets would keep a processor from the servers until the
// runtime notices.
func aside() (back func()) {
	runtime.LockOSThread()
	n := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(n + 1)
	return func() {
		runtime.GOMAXPROCS(n)
		runtime.UnlockOSThread()
	}
}

// fanOut publishes n events and reads what comes of it. They keep their pace, but none
// comes before everybody has the one before: on a machine that has more to do, events
// would share a write otherwise, and a frame seem to cost less.
func fanOut(b *testing.B, c *crowd, n int, publish func()) (cost, []time.Duration) {
	b.Helper()
	late := make([]time.Duration, 0, n*len(c.fds))
	next := make(chan struct{})
	defer close(next)
	go func() {
		for range next {
			publish()
		}
	}()
	before := spent(b)
	for range n {
		from, goal := time.Now(), c.total+len(c.fds)
		next <- struct{}{}
		c.until(func() bool { return c.total >= goal }, func() { late = append(late, time.Since(from)) })
		time.Sleep(pace - time.Since(from)) // the next event's time
	}
	return spent(b).since(before), late
}

// BenchmarkFanOut is one run watched by many, relay and bare server in turns. Each
// iteration is an event. The relay's share contains the broker's and the publisher's.
func BenchmarkFanOut(b *testing.B) {
	f, plain := benchFabric(b), newBare(b)
	defer aside()()
	r := f.ready()
	mine, theirs := newCrowd(b, f.url), newCrowd(b, plain.url)
	defer mine.close()
	defer theirs.close()
	mine.join(observersAtOnce, "/chat/live?chat_id=c")
	theirs.join(observersAtOnce, "/")
	for _, c := range []*crowd{mine, theirs} {
		c.until(func() bool { return c.ready == observersAtOnce }, nil)
	}
	event := marked()
	var used, floor cost
	var late, floorLate []time.Duration
	b.ResetTimer()
	for left := b.N; left > 0; {
		n := min(left, 50)
		left -= n
		u, l := fanOut(b, theirs, n, func() { plain.publish(event) })
		floor, floorLate = floor.plus(u), append(floorLate, l...)
		u, l = fanOut(b, mine, n, func() { r.add(event) })
		used, late = used.plus(u), append(late, l...)
	}
	b.StopTimer()
	frames := float64(b.N * observersAtOnce)
	b.ReportMetric(float64(used.cpu.Nanoseconds())/frames/1e3, "µs/frame")
	b.ReportMetric(float64(floor.cpu.Nanoseconds())/frames/1e3, "bare-µs/frame")
	b.ReportMetric(float64(used.cpu)/float64(floor.cpu), "x-bare")
	b.ReportMetric(float64(used.allocs)/frames, "allocs/frame")
	for name, all := range map[string][]time.Duration{"": late, "bare-": floorLate} {
		slices.Sort(all)
		b.ReportMetric(ms(all[len(all)/2]), name+"p50-ms")
		b.ReportMetric(ms(all[len(all)*99/100]), name+"p99-ms")
	}
	b.ReportMetric(0, "ns/op") // the pace, and nothing else
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// BenchmarkIdle is what an observer holds that is sent nothing, beside one of the bare
// server: heap and stack of the whole process, whose clients hold none.
func BenchmarkIdle(b *testing.B) {
	f, plain := benchFabric(b), newBare(b)
	defer aside()()
	f.ready()
	weigh := func(url, path string) (heap, stacks float64) {
		c := newCrowd(b, url)
		defer c.close()
		join := func(n int) (heap, stacks uint64) {
			c.join(n, path)
			c.until(func() bool { return c.ready == len(c.fds) }, nil)
			time.Sleep(300 * time.Millisecond) // goroutines that have answered lie down
			return held()
		}
		heap0, stacks0 := join(200)
		heap1, stacks1 := join(2000)
		return float64(heap1-heap0) / 2000 / 1024, float64(stacks1-stacks0) / 2000 / 1024
	}
	for range b.N {
		heap, stacks := weigh(f.url, "/chat/live?chat_id=c")
		bareHeap, bareStacks := weigh(plain.url, "/")
		b.ReportMetric(heap, "heap-KiB/observer")
		b.ReportMetric(stacks, "stack-KiB/observer")
		b.ReportMetric(bareHeap, "bare-heap-KiB/observer")
		b.ReportMetric(bareStacks, "bare-stack-KiB/observer")
		b.ReportMetric(heap+stacks-bareHeap-bareStacks, "KiB-beyond-bare")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkStorm is a crowd that comes back at once, each 20 events behind: until all
// have them, and what it took, relay and bare server in turns.
func BenchmarkStorm(b *testing.B) {
	const missed = 20
	f, plain := benchFabric(b), newBare(b)
	defer aside()()
	r := f.ready()
	event := marked()
	for range missed {
		r.add(event)
		plain.publish(event)
	}
	keeper := f.open("GET", "/chat/live?chat_id=c", "") // the tail stays
	keeper.until(r.seq)
	mine, theirs := newCrowd(b, f.url), newCrowd(b, plain.url)
	defer mine.close()
	defer theirs.close()
	storm := func(c *crowd, path string, headers ...string) (cost, time.Duration) {
		runtime.GC()
		before, from := spent(b), time.Now()
		c.join(observersAtOnce, path, headers...)
		c.until(func() bool { return c.total == missed*observersAtOnce }, nil)
		took := time.Since(from)
		used := spent(b).since(before)
		c.leave()
		return used, took
	}
	cursor := fmt.Sprintf("Last-Event-ID: %s:1\r\n", r.id())
	var used, floor cost
	var took, floorTook time.Duration
	b.ResetTimer()
	for range b.N {
		u, t := storm(theirs, "/")
		floor, floorTook = floor.plus(u), floorTook+t
		f.watching(1)
		u, t = storm(mine, "/chat/live?chat_id=c", cursor)
		used, took = used.plus(u), took+t
		f.watching(1)
	}
	b.StopTimer()
	n := float64(b.N * observersAtOnce)
	b.ReportMetric(ms(took)/float64(b.N), "ms-all")
	b.ReportMetric(ms(floorTook)/float64(b.N), "bare-ms-all")
	b.ReportMetric(float64(used.cpu.Microseconds())/n, "µs/attach")
	b.ReportMetric(float64(floor.cpu.Microseconds())/n, "bare-µs/attach")
	b.ReportMetric(float64(used.allocs)/n, "allocs/attach")
	b.ReportMetric(float64(floor.allocs)/n, "bare-allocs/attach")
	b.ReportMetric(0, "ns/op")
}
