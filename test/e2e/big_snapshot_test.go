package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/test/harness"
)

// result is a tool's result of about the given size, the ith of its run: nothing that
// could be merged with another.
func result(i uint64, size int) []byte {
	return fmt.Appendf(nil, `{"type":"TOOL_CALL_RESULT","messageId":"r%d","toolCallId":"t%d","content":"%s"}`,
		i, i, strings.Repeat("x", size))
}

// publishResults publishes results until the run's compact form has about size bytes, and
// returns what the frame of its snapshot has to be, as a digest.
func publishResults(ctx context.Context, t *testing.T, run *producer.Run, size int) digest {
	t.Helper()
	const each = 64 << 10
	d := newDigest()
	_, _ = fmt.Fprintf(d, `"seq":%d,"events":[`, (size+each-1)/each)
	for done := 0; done < size; done += each {
		e := result(run.LastSeq()+1, min(each, size-done))
		if done > 0 {
			_, _ = d.Write([]byte{','})
		}
		_, _ = d.Write(e)
		_, err := run.Publish(ctx, e)
		require.NoError(t, err)
	}
	_, err := run.Flush(ctx)
	require.NoError(t, err)
	_, _ = d.Write([]byte("]}"))
	return d
}

// BIG-02: runs whose compact form is around the broker's limit for a message, and far above it. Twenty
// readers come at once, and come back; each gets exactly what was published.
func TestBIG02_SnapshotsOfAnySize(t *testing.T) {
	t.Parallel()
	for _, mib := range []float64{0.9, 1.0, 1.1, 10} {
		t.Run(fmt.Sprint(mib), func(t *testing.T) {
			t.Parallel()
			ctx := bounded(t)
			f := harness.New(t, harness.Config{})
			relay := f.Relay(harness.RelayConfig{})
			run := f.Start(f.Producer(f.Connect()), "chat")
			want := publishResults(ctx, t, run, int(mib*(1<<20)))
			herdOf(ctx, t, relay.URL, 20, 2, want)
			_, err := run.Finish(ctx, producer.FinishOptions{})
			require.NoError(t, err)
			herdOf(ctx, t, relay.URL, 5, 1, want)
		})
	}
}

// herdOf sends so many readers at once, each of whom reads a snapshot so many times.
func herdOf(ctx context.Context, t *testing.T, url string, readers, times int, want digest) {
	t.Helper()
	var reading sync.WaitGroup
	for i := range readers {
		reading.Go(func() {
			for range times {
				if err := readSnapshot(ctx, url, want); err != nil {
					t.Errorf("reader %d: %v", i, err)
				}
			}
		})
	}
	reading.Wait()
}

// digest says whether bytes are the expected ones without keeping them.
type digest struct{ hash.Hash32 }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func newDigest() digest { return digest{crc32.New(castagnoli)} }

// gated calls a function before it takes anything.
type gated struct {
	digest
	begin func()
}

func (g gated) Write(b []byte) (int, error) {
	g.begin()
	return g.digest.Write(b)
}

// readSnapshot reads the first frame of a stream, which has to be a snapshot of that
// content, and leaves.
func readSnapshot(ctx context.Context, url string, want digest) error {
	return readSnapshotInto(ctx, url, want, func() {})
}

// readSnapshotInto is readSnapshot with a call once the snapshot has begun to come.
func readSnapshotInto(ctx context.Context, url string, want digest, begun func()) error {
	c, err := harness.Ask(ctx, http.MethodPost, url+"/chat/live", harness.Live("chat"))
	if err != nil {
		return err
	}
	defer c.Close()
	got := newDigest()
	if err := c.CopyData(gated{got, sync.OnceFunc(begun)}, `"seq":`); err != nil {
		return err
	}
	if got.Sum32() != want.Sum32() {
		return errors.New("the snapshot is not what was published")
	}
	return nil
}

// BIG-02: a run of 50 MiB. What the relay holds at most does not grow with the number of
// readers. The relay is a process of its own, for the sake of its heap.
func TestBIG02_ManyReadersOfAHugeRunCostTheMemoryOfAFew(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	dev := harness.NewDev(t, "--demo=false")
	dev.Start()
	dev.Ready()
	f := harness.New(t, harness.Config{URL: dev.NATS})
	relay := f.RelayProcess()
	relay.Env = []string{"GOGC=20"} // little that is not in use
	relay.Start()
	relay.Ready()
	run := f.Start(f.Producer(f.Connect()), "chat")
	const size = 50 << 20
	want := publishResults(ctx, t, run, size)
	inUse := func() (float64, error) { return relay.Number("go_memstats_heap_alloc_bytes") }
	before, err := inUse()
	require.NoError(t, err)
	peak := most(inUse)
	var begun, reading sync.WaitGroup
	for i := range 20 {
		begun.Add(1)
		begin := sync.OnceFunc(begun.Done)
		reading.Go(func() {
			defer begin()
			err := readSnapshotInto(ctx, relay.URL, want, func() {
				begin()
				begun.Wait() // so that all have a part of theirs before any has all of it
			})
			if err != nil {
				t.Errorf("reader %d: %v", i, err)
			}
		})
	}
	reading.Wait()
	grown := peak() - before
	require.Positive(t, grown)
	t.Logf("%.0f MiB at most", grown/(1<<20))
	require.Less(t, grown, 5.0*size, "bytes in use for twenty readers")
}

// most asks again and again for a number; the function returned stops that and gives the
// highest answer.
func most(number func() (float64, error)) (peak func() float64) {
	stop, done := make(chan struct{}), make(chan float64)
	go func() {
		top := 0.0
		for {
			if n, err := number(); err == nil {
				top = max(top, n)
			}
			select {
			case <-stop:
				done <- top
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() float64 {
		close(stop)
		return <-done
	}
}
