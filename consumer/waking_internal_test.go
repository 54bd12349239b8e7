package consumer

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Whoever waited when there was more is told, whoever else waits, gives up, or has yet to take
// what it was told.
func TestNobodyWhoWaitsIsLeftOut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var w waking
		waits := map[int]<-chan struct{}{} // reader -> what it waits on
		owed := map[int]bool{}             // who has to be told
		reader := rapid.IntRange(0, 3)
		take := func(i int) bool {
			select {
			case <-waits[i]:
				delete(waits, i)
				delete(owed, i)
				return true
			default:
				return false
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			i := reader.Draw(t, "reader")
			switch rapid.SampledFrom([]string{"wait", "tell", "take", "give up"}).Draw(t, "what") {
			case "wait": // anew, whatever it waited for
				delete(owed, i)
				waits[i] = w.wait()
			case "tell":
				w.tell()
				for j := range waits {
					owed[j] = true
				}
			case "take":
				if waits[i] != nil && !take(i) && owed[i] {
					t.Fatalf("reader %d is not told", i)
				}
			case "give up":
				delete(waits, i)
				delete(owed, i)
			}
		}
		for i := range owed {
			if !take(i) {
				t.Fatalf("reader %d was never told", i)
			}
		}
		select {
		case <-w.wait():
			t.Fatal("told what another one has left over")
		default:
		}
	})
}

// One that waits alone costs a change nothing.
func TestWakingOneAllocatesNothing(t *testing.T) {
	var w waking
	require.Zero(t, int(testing.AllocsPerRun(100, func() {
		c := w.wait()
		w.tell()
		<-c
	})))
}

// Readers that come, go and wait at any time get every change of a tail.
func TestTailLosesNoWake(t *testing.T) {
	t.Parallel()
	const readers, last = 4, 5000
	tail := newTail("0-x")
	var all sync.WaitGroup
	for i := range readers {
		all.Go(func() {
			for seq, polls := uint64(0), 0; seq < last; polls++ {
				st := tail.after(seq)
				if st.ok {
					seq = st.block.last
					continue
				}
				if st.behind > 0 {
					t.Error("a reader that is awake is not behind")
					return
				}
				if polls%(i+3) == 0 {
					continue // it has given up, and asks again
				}
				select {
				case <-st.wake:
				case <-time.After(time.Minute):
					t.Errorf("a reader at %d was not woken", seq)
					return
				}
			}
		})
	}
	for seq := uint64(1); seq <= last; seq++ {
		tail.hear(events(seq, 1, "e"))
	}
	all.Wait()
}
