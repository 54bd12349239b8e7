package relay_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/relay"
)

// Observers that come and go at random places of a run that is being published,
// on two relays, all end with the same text.
func TestSEAM01_EveryObserverEndsWithTheSame(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	other := newRelayOn(f, func(c *relay.Config) { c.Metrics = relay.NewMetrics(nil) })
	r := f.start("c")
	const events = 600
	var all sync.WaitGroup
	for i := range 8 {
		at := []*fabric{f, other}[i%2]
		rng := rand.New(rand.NewPCG(1, uint64(i)))
		all.Go(func() {
			said, seq := "", uint64(0)
			for streams := 0; ; streams++ {
				body := `{"chat_id":"c","protocol":1}`
				if streams > 0 {
					body = fmt.Sprintf(`{"chat_id":"c","protocol":1,"run_id":%q,"after_seq":%d}`, r.id(), seq)
				}
				o := at.live(body)
				o.text, o.seq = said, seq
				for n := rng.IntN(60); n >= 0 && o.end == nil; n-- {
					o.next()
				}
				if streams > 0 && o.snapshots > 0 {
					t.Errorf("a snapshot for a good cursor at %d", seq)
				}
				said, seq = o.text, o.seq
				o.close()
				if o.end != nil {
					break
				}
			}
			if said != text(events) {
				t.Errorf("observer %d has something else: %.200s", i, said)
			}
		})
	}
	for r.seq < events {
		var batch []string
		for range 1 + rand.IntN(7) {
			if n := r.seq + uint64(len(batch)) + 1; n <= events {
				batch = append(batch, delta(n))
			}
		}
		r.publish(batch...)
		if r.seq%100 < 4 {
			r.checkpoint()
		}
	}
	r.finish(failed)
	all.Wait()
	require.Equal(t, uint64(events), r.seq)
}
