package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/rejoin/rejoin/internal/bench/client"
	"github.com/rejoin/rejoin/internal/bench/stamp"
	"github.com/rejoin/rejoin/internal/bench/stats"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
)

// native writes many runs at a steady pace as a worker does: in Go, with package producer,
// on one connection to the broker and past the relay. Its fields belong to the goroutine of
// its loop, which only keeps time, from begin until everything was sent.
type native struct {
	loop  *client.Loop
	stop  func()
	nc    *nats.Conn
	all   *producer.Producer
	size  int
	where []place
	runs  []*producer.Run

	schedule stats.Schedule
	sends    uint64 // so far
	most     uint64 // how many there are to be
	lateness stats.Lateness
	event    []byte
	sent     chan error // what became of the sending, once it is over
}

// writing is how many runs are made, or ended, at once.
const writing = 32

// newNative makes the producer of n runs, which are made by open. It has to be closed.
func (e *Env) newNative(ctx context.Context, to target, name string, n, size int) (*native, error) {
	nc, err := e.Connect(ctx)
	if err != nil {
		return nil, err
	}
	w := &native{nc: nc, size: size, runs: make([]*producer.Run, n), sent: make(chan error, 1)}
	for i := range n {
		w.where = append(w.where, to.place(name, i))
	}
	if w.all, err = producer.Connect(ctx, nc, producer.Config{}); err == nil {
		if w.loop, w.stop, err = runLoop(to.addr); err != nil {
			_ = w.all.Close(ctx)
		}
	}
	if err != nil {
		nc.Close()
		return nil, err
	}
	return w, nil
}

// close ends what is not ended.
func (w *native) close() {
	w.stop()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = w.all.Close(ctx)
	w.nc.Close()
}

func (w *native) places() (all []*place) {
	for i := range w.where {
		all = append(all, &w.where[i])
	}
	return all
}

// open makes the runs, with the event that begins their message.
func (w *native) open(ctx context.Context) error {
	return w.each(func(i int) error {
		run, err := w.all.Start(ctx, producer.StartOptions{ChatID: w.where[i].chat})
		if err != nil {
			return fmt.Errorf("a run is not started: %w", err)
		}
		w.where[i].run, w.runs[i] = string(run.ID()), run
		if _, err := run.Publish(ctx, stamp.Open()); err != nil {
			return err
		}
		_, err = run.Flush(ctx)
		return err
	})
}

// begin sends from start on, rate events a second of each run, for a time.
func (w *native) begin(start time.Time, rate int, d time.Duration) error {
	return w.loop.Do(func() {
		w.schedule = stats.Schedule{Start: start, Every: time.Second / time.Duration(rate), Streams: len(w.runs)}
		w.sends, w.most = 0, uint64(d/w.schedule.Every)*uint64(len(w.runs))
		w.loop.At(start, w.tick)
	})
}

// tick sends what is due.
func (w *native) tick(now time.Time) time.Time {
	for w.sends < w.most {
		due := w.schedule.Due(w.sends)
		if due.After(now) {
			return maxTime(due, now.Add(pulse))
		}
		w.lateness.Sent(due, now)
		w.event = stamp.Append(w.event[:0], w.sends/uint64(len(w.runs))+1, due.UnixMicro(), w.size)
		// It waits only for a run whose buffer is full, which has 1,024 events outstanding.
		if _, err := w.runs[w.schedule.Stream(w.sends)].Publish(context.Background(), w.event); err != nil {
			w.sent <- fmt.Errorf("an event is not published: %w", err)
			return time.Time{}
		}
		w.sends++
		now = time.Now()
	}
	w.sent <- nil
	return time.Time{}
}

// finish waits until everything was sent, and ends the runs once all is stored. It returns
// the number of the last event, which is the same for all.
func (w *native) finish(ctx context.Context) (last uint64, err error) {
	select {
	case err = <-w.sent:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return 0, err
	}
	return w.most / uint64(len(w.runs)), w.each(func(i int) error {
		end, err := w.runs[i].Finish(ctx, producer.FinishOptions{Persisted: true})
		if err == nil && end.Reason != subjects.ReasonDone {
			err = fmt.Errorf("a run ended as %s", end.Reason)
		}
		return err
	})
}

// late is how well it kept its pace.
func (w *native) late() (l stats.Lateness) {
	_ = w.loop.Do(func() { l = w.lateness })
	return l
}

// each does something for every run, some at a time.
func (w *native) each(do func(i int) error) error {
	work := errgroup.Group{}
	work.SetLimit(writing)
	for i := range w.runs {
		work.Go(func() error { return do(i) })
	}
	return work.Wait()
}
