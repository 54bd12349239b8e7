package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/rejoin/rejoin/internal/bench/client"
	"github.com/rejoin/rejoin/internal/bench/floor"
	"github.com/rejoin/rejoin/internal/bench/report"
	"github.com/rejoin/rejoin/internal/bench/stamp"
	"github.com/rejoin/rejoin/internal/bench/stats"
)

// ingest measures how many events are stored a second. Only what was answered counts, and
// an answer means that all is stored.
func ingest() Workload {
	w := Workload{
		Name:    "ingest",
		Summary: "producers store events as fast as they are answered: one and 64 a request, and in a streamed body",
		Run:     runIngest,
	}
	for _, runs := range []int{1, 100} {
		for _, batch := range []int{1, 64, 0} {
			how := fmt.Sprintf("%d a request", batch)
			if batch == 0 {
				how = "streamed"
			}
			w.Cases = append(w.Cases, Case{Name: fmt.Sprintf("%s, %s", counting(runs, "run"), how), Short: runs == 1 || batch == 0, Runs: runs, Size: 200, Batch: batch})
		}
	}
	return w
}

// streamedAtMost is how many events a second all streamed bodies may have together: what
// they are ahead of the relay waits in the system's buffers, megabytes for each of them, and
// would only take longer to store.
const streamedAtMost = 100_000

// readBack is the longest run that is read again after it was written.
const readBack = 200_000

// ingester is the producer of one run.
type ingester struct {
	conn  *client.Conn
	run   string
	n     uint64 // events sent, besides the first
	last  uint64 // last seq that an answer has named
	times stats.Histogram
	line  []byte
}

func runIngest(ctx context.Context, env *Env, c Case) ([]report.Result, error) {
	producers := make([]*ingester, c.Runs)
	for i := range producers {
		conn, err := client.Dial(ctx, env.Relay, client.Options{Buffer: 4 << 10})
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		f := &ingester{conn: conn, last: 1}
		if f.run, err = filled(conn, fmt.Sprintf("chat-%d", i), 1, c.Size); err != nil {
			return nil, err
		}
		producers[i] = f
	}
	r, err := env.feedAll(ctx, c, producers)
	if err != nil {
		return nil, err
	}
	if err := env.readBack(ctx, producers[0], &r); err != nil {
		return nil, err
	}
	js, err := env.asyncPublish(ctx, c)
	if err != nil {
		return nil, err
	}
	r.Against(js)
	return []report.Result{r, js}, nil
}

// feedAll lets all of them produce for the same time.
func (e *Env) feedAll(ctx context.Context, c Case, producers []*ingester) (report.Result, error) {
	r := e.Result(c, report.Rejoin)
	w := e.Begin(ctx, c)
	errs := make([]error, len(producers))
	var all sync.WaitGroup
	until := time.Now().Add(e.Duration)
	for i, f := range producers {
		all.Go(func() { errs[i] = f.feed(c, until, uint64(e.Duration.Seconds()*streamedAtMost)/uint64(c.Runs)) })
	}
	all.Wait()
	use := w.End()
	var times stats.Histogram
	var sent, stored uint64
	for i, f := range producers {
		if errs[i] != nil {
			return r, errs[i]
		}
		sent += f.n
		stored += f.last - 1
		times.Merge(&f.times)
	}
	rate := r.Add("stored", "events/s", float64(stored)/use.Took.Seconds()).AtLeast(0)
	switch {
	case c.Batch == 1:
	case c.Runs == 1:
		rate.AtLeast(150_000)
	default:
		rate.AtLeast(200_000)
	}
	if c.Batch > 0 {
		r.Millis("answer p50", times.Quantile(0.5))
		r.Millis("answer p99", times.Quantile(0.99))
	}
	for _, name := range []string{Relay, Broker, Generator} {
		if cpu, ok := use.CPU[name]; ok && stored > 0 {
			r.Add("CPU an event, "+name, "µs", float64(cpu.Microseconds())/float64(stored))
		}
	}
	r.Counts = report.Counts{Expected: sent, Delivered: stored, Missing: sent - min(stored, sent), Doubled: stored - min(stored, sent)}
	r.CPUShare = use.Share()
	return r, nil
}

// feed sends events until the time is over, or as many as a streamed body may have, and
// returns once all are answered.
func (f *ingester) feed(c Case, until time.Time, streamed uint64) error {
	if c.Batch == 0 {
		return f.stream(c, until, streamed)
	}
	path := client.EventsPath(f.run)
	var body []byte
	for {
		now := time.Now()
		if now.After(until) {
			return nil
		}
		body = body[:0]
		for range c.Batch {
			f.n++
			body = append(stamp.Append(body, f.n, now.UnixMicro(), c.Size), '\n')
		}
		status, answer, err := f.conn.Post(path, body, ndjson)
		if err != nil {
			return err
		}
		f.times.Record(time.Since(now))
		if err := f.answered(status, answer); err != nil {
			return err
		}
	}
}

// stream sends all of them in one body.
func (f *ingester) stream(c Case, until time.Time, most uint64) error {
	body, err := f.conn.Stream(client.EventsPath(f.run), ndjson)
	if err != nil {
		return err
	}
	for now := time.Now(); now.Before(until) && f.n < most; now = time.Now() {
		for range 64 { // the clock is not looked at for each
			f.n++
			f.line = append(stamp.Append(f.line[:0], f.n, now.UnixMicro(), c.Size), '\n')
			if _, err := body.Write(f.line); err != nil {
				return err
			}
		}
	}
	status, answer, err := body.Close()
	if err != nil {
		return err
	}
	return f.answered(status, answer)
}

func (f *ingester) answered(status int, answer []byte) error {
	if err := client.Want(http.StatusOK, status, answer); err != nil {
		return err
	}
	var got struct {
		Last uint64 `json:"last_seq"`
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return fmt.Errorf("%w: %w", client.ErrProtocol, err)
	}
	f.last = got.Last
	return nil
}

// readBack checks that what was answered is there, unless it is too much to read.
func (e *Env) readBack(ctx context.Context, f *ingester, r *report.Result) error {
	if f.last > readBack {
		r.Note = fmt.Sprintf("counted by the answers; the runs were too long to read back within the time (%s events)", thousands(int(f.last)))
		return nil
	}
	var t attachTimes
	if err := t.attach(ctx, e.Relay, client.LivePath("chat-0", f.run), 0, f.n); err != nil {
		return err
	}
	r.Counts.Missing += t.counts.Missing
	r.Counts.Doubled += t.counts.Doubled
	r.Counts.OutOfOrder += t.counts.OutOfOrder
	r.Note = fmt.Sprintf("counted by the answers; the first run's %s events were read back", thousands(int(f.last)))
	return nil
}

// asyncPublish measures the broker alone.
func (e *Env) asyncPublish(ctx context.Context, c Case) (r report.Result, err error) {
	nc, err := e.Connect(ctx)
	if err != nil {
		return r, err
	}
	defer nc.Close()
	r = e.Result(c, report.JetStream)
	w := e.Begin(ctx, c)
	rate, err := floor.AsyncPublish(ctx, nc, c.Runs, c.Size, e.Duration)
	use := w.End()
	if err != nil {
		return r, fmt.Errorf("%s: %w", report.JetStream, err)
	}
	r.Add("stored", "events/s", rate).More = true
	r.CPUShare = use.Share()
	r.Note = "each event a message"
	return r, nil
}

// counting is a number of things: 1 run, 100 runs.
func counting(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return thousands(n) + " " + what + "s"
}
