package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// The whole process, broker and all, is killed twenty times at any moment, while it is coming up
// too. Every event that was acknowledged is there afterwards, in order, once; repeating
// is exact; readers come back by themselves and end with exactly what was published.
func TestSIGKILLOfTheWholeProcessLosesNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*harness.Patience)
	defer cancel()
	const kills, writers, perLife = 20, 3, 150
	dev := harness.NewDev(t, "--lease", "3s")
	dev.Start()
	dev.Ready()

	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	// Events are written for as long as the killing goes on, and some more.
	goal := make(chan struct{})
	var work sync.WaitGroup
	check := func(what string, err error) {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for i := range writers {
		w := &stubborn{url: dev.URL, chat: fmt.Sprint("chat ", i), http: &http.Client{Transport: transport}, rnd: rand.New(rand.NewPCG(uint64(i), 3))}
		require.NoError(t, w.start(ctx))
		total := make(chan uint64, 2)
		work.Go(func() {
			defer close(total)
			var err error
			for alive := true; alive && err == nil; {
				err = w.write(ctx, w.acked+perLife)
				select {
				case <-goal:
					alive = false
				default:
				}
			}
			err = errors.Join(err, w.again(ctx), w.end(ctx))
			check(w.chat, err)
			total <- w.acked
			total <- w.acked
		})
		for from := range 2 {
			work.Go(func() { check(w.chat, readOverKills(ctx, dev, w, from == 0, total)) })
		}
	}
	work.Go(func() { check("demo", followDemo(ctx, dev)) })

	rnd := rand.New(rand.NewPCG(20, 20))
	for i := range kills {
		if i%4 != 3 { // else it is killed while it comes up
			dev.Ready()
		}
		time.Sleep(time.Duration(rnd.IntN(400)) * time.Millisecond) // at any moment
		dev.Kill()
		var last []string
		if i == kills-1 {
			last = []string{"--demo=false"}
		}
		dev.Start(last...)
	}
	dev.Ready()
	close(goal)
	work.Wait()
}

// keen is a client that comes back soon and does not give up while the process is away.
func keen(url string) *consumer.Client {
	return &consumer.Client{BaseURL: url, MaxAttempts: 1000,
		Backoff: consumer.Backoff{Base: 20 * time.Millisecond, Max: 200 * time.Millisecond}}
}

// readOverKills reads a writer's run to its end, from the first event or from a snapshot.
func readOverKills(ctx context.Context, dev *harness.Rejoin, w *stubborn, fromStart bool, total <-chan uint64) error {
	watch := consumer.Watch{ChatID: w.chat}
	o := &harness.Observer{}
	if fromStart {
		watch.RunID, watch.AfterSeq = w.run, new(uint64)
		o = harness.At(w.run, 0)
	}
	s := keen(dev.URL).Watch(ctx, watch)
	defer s.Close()
	if err := o.ToEnd(ctx, s); err != nil {
		return err
	}
	if !o.End.Persisted {
		return fmt.Errorf("ended with %+v", *o.End)
	}
	return o.Holds(<-total)
}

// followDemo follows the runs that the process itself produces. Each but the last is
// superseded by that of the next life; the last one is abandoned.
func followDemo(ctx context.Context, dev *harness.Rejoin) error {
	s := keen(dev.URL).Watch(ctx, consumer.Watch{ChatID: "demo", Wait: harness.Patience, Follow: true})
	defer s.Close()
	for runs := 1; ; runs++ {
		o := &harness.Observer{}
		for o.End == nil {
			f, err := s.Next(ctx)
			if err == nil {
				err = o.Apply(f)
			}
			if err != nil {
				return fmt.Errorf("run %d, %s at %d: %w", runs, o.RunID, o.Seq, err)
			}
		}
		switch {
		case o.End.Superseded:
		case o.End.Reason == subjects.ReasonAbandoned && runs > 1:
			return nil
		default:
			return fmt.Errorf("run %d ended with %+v", runs, *o.End)
		}
	}
}
