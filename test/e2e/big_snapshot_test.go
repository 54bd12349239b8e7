package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"net/http"
	"runtime/metrics"
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
	d.WriteString(fmt.Sprintf(`"seq":%d,"events":[`, (size+each-1)/each))
	for done := 0; done < size; done += each {
		e := result(run.LastSeq()+1, min(each, size-done))
		if done > 0 {
			d.WriteByte(',')
		}
		d.Write(e)
		_, err := run.Publish(ctx, e)
		require.NoError(t, err)
	}
	_, err := run.Flush(ctx)
	require.NoError(t, err)
	d.WriteString("]}")
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
			herdOf(ctx, t, relay, 20, 2, want)
			_, err := run.Finish(ctx, producer.FinishOptions{})
			require.NoError(t, err)
			herdOf(ctx, t, relay, 5, 1, want)
		})
	}
}

// herdOf sends so many readers at once, each of whom reads a snapshot so many times.
func herdOf(ctx context.Context, t *testing.T, relay *harness.Relay, readers, times int, want digest) {
	t.Helper()
	var reading sync.WaitGroup
	for i := range readers {
		reading.Go(func() {
			for range times {
				if err := readSnapshot(ctx, relay.URL, want); err != nil {
					t.Errorf("reader %d: %v", i, err)
				}
			}
		})
	}
	reading.Wait()
}

// digest says whether bytes are the expected ones without keeping them.
type digest struct{ *maphash.Hash }

var digestSeed = maphash.MakeSeed()

func newDigest() digest {
	h := &maphash.Hash{}
	h.SetSeed(digestSeed)
	return digest{h}
}

// readSnapshot reads the first frame of a stream, which has to be a snapshot of that
// content, and leaves.
func readSnapshot(ctx context.Context, url string, want digest) error {
	c, err := harness.Ask(ctx, http.MethodPost, url+"/chat/live", harness.Live("chat"))
	if err != nil {
		return err
	}
	defer c.Close()
	got := newDigest()
	if err := c.CopyData(got, `"seq":`); err != nil {
		return err
	}
	if got.Sum64() != want.Sum64() {
		return errors.New("the snapshot is not what was published")
	}
	return nil
}

// BIG-02: a run of 50 MiB. What the relay holds at most does not grow with the number of
// readers. Alone in its process, for the sake of the heap.
func TestBIG02_ManyReadersOfAHugeRunCostTheMemoryOfAFew(t *testing.T) { //nolint:paralleltest // measures the heap
	ctx := bounded(t)
	f := harness.New(t, harness.Config{Process: harness.NewBroker(t)})
	relay := f.Relay(harness.RelayConfig{})
	run := f.Start(f.Producer(f.Connect()), "chat")
	const size = 50 << 20
	want := publishResults(ctx, t, run, size)
	before := heap()
	peak := liveHeap(t)
	herdOf(ctx, t, relay, 20, 1, want)
	herdOf(ctx, t, relay, 5, 2, want)
	grown := int64(peak()) - int64(before)
	t.Logf("%d MiB at most", grown>>20)
	require.Less(t, grown, int64(4*size), "bytes in use for twenty readers")
}

// liveHeap watches how much is in use, as each collection of garbage finds it. The function
// returned gives the most there was.
func liveHeap(t *testing.T) (peak func() uint64) {
	t.Helper()
	stop, done := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				done <- most
				return
			case <-tick.C:
				metrics.Read(sample)
				most = max(most, sample[0].Value.Uint64())
			}
		}
	}()
	return func() uint64 {
		close(stop)
		return <-done
	}
}
