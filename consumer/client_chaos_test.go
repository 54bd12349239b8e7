package consumer_test

import (
	"io"
	"math/rand/v2"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
)

// A relay that does everything wrong that it can, but for what it says about the
// run: it starts too early or too late, repeats, leaves out, sends snapshots in
// between and cuts anywhere. Whatever it does, the application sees a prefix of the run
// at every moment and all of it in the end.
func TestNoRelayCanMakeAClientLoseOrRepeat(t *testing.T) {
	t.Parallel()
	const events, hostile = 40, 30
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 0))
			r := newRelay(t)
			r.client.MaxAttempts = hostile + 2
			for range hostile {
				r.script = append(r.script, func(w http.ResponseWriter, req *http.Request) { wrong(rnd, events)(w, req) })
			}
			r.script = append(r.script, r.rest("r1", events))

			s := r.watch(consumer.Watch{})
			v := &consumer.View{}
			for {
				f, err := s.Next(t.Context())
				if err != nil {
					require.ErrorIs(t, err, io.EOF)
					break
				}
				require.NoError(t, v.Apply(f))
				require.Equal(t, upTo(v.Seq()), string(v.Events()), seed)
			}
			require.Equal(t, upTo(events), string(v.Events()), seed)
			require.NotNil(t, v.End())
		})
	}
}

func wrong(rnd *rand.Rand, events uint64) answer {
	if rnd.IntN(6) == 0 {
		return status([]int{500, 503, 429, 408}[rnd.IntN(4)])
	}
	var body []byte
	seq := rnd.Uint64N(events)
	if rnd.IntN(3) == 0 {
		f := snapshot("r1", seq, upTo(seq))
		body = f.AppendSSE(body)
	}
	for range rnd.IntN(12) {
		switch rnd.IntN(12) {
		case 0:
			seq = rnd.Uint64N(events) // a gap, or back again
		case 1:
			f := snapshot("r1", seq, upTo(seq))
			body = f.AppendSSE(body)
		case 2:
			f := event("r2", seq+1)
			body = f.AppendSSE(body)
		case 3:
			f := end("r1", events+1) // of more than there is
			body = f.AppendSSE(body)
		default:
			seq = min(seq+1, events)
			f := event("r1", seq)
			body = f.AppendSSE(body)
		}
	}
	if len(body) > 0 && rnd.IntN(2) == 0 {
		return stream(body[:rnd.IntN(len(body))], cut{})
	}
	return stream(body)
}
