package runs

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/rejoin/rejoin/subjects"
)

// JanitorConfig says how patient a janitor is. Zero values mean the constants of
// package subjects.
type JanitorConfig struct {
	Lease     time.Duration // how long a run may be without a living producer
	Retention time.Duration // how long an ended run is kept
	TurnTTL   time.Duration // how long a turn whose time has come may wait for a worker
	// MaxEndedPerOwner is how many ended runs of one owner are kept. 0 means
	// subjects.MaxEndedPerOwner for each owner, while runs that name none, which are
	// many users', are kept for their time; any other number bounds those too.
	MaxEndedPerOwner int
	Interval         time.Duration // between sweeps; 0 means a third of Lease, 5 s at the most
	Tidy             time.Duration // between looks for data without an entry; 0 means a minute
	Advice           string        // what to do where the user may not sweep, for the log; may be ""
	Metrics          JanitorMetrics
	Logger           *slog.Logger // may be nil
}

// JanitorMetrics counts what sweeps did. A nil function is not called.
type JanitorMetrics struct {
	Ended    func(subjects.Reason) // a run got its end
	Evicted  func()                // an ended run left
	Expired  func()                // a turn that no worker took in time got its end; Ended is called, too
	Repaired func()                // a turn that was missing in the work queue was put there
	Stray    func()                // what belongs to no run was removed
	Swept    func(took time.Duration, err error)
}

// Janitor ends runs that nobody will finish and evicts those that ended. Any number
// of janitors may run at once: every step is fenced or compare-and-set, so they
// only repeat each other.
type Janitor struct {
	store *Store
	cfg   JanitorConfig
	log   *slog.Logger

	orphans map[subjects.RunID]time.Time // first seen without a living producer
	strays  map[subjects.RunID]time.Time // first seen without an entry
	tidied  time.Time
	trouble Trouble         // with sweeping
	back    <-chan struct{} // closed when the connection has come back since the last sweep
}

// NewJanitor makes a janitor that does nothing until Run or Sweep.
func NewJanitor(s *Store, cfg JanitorConfig) *Janitor {
	cfg.Lease = or(cfg.Lease, subjects.Lease)
	cfg.Retention = or(cfg.Retention, subjects.Retention)
	cfg.TurnTTL = or(cfg.TurnTTL, subjects.TurnTTL)
	cfg.Interval = or(cfg.Interval, min(cfg.Lease/3, 5*time.Second))
	cfg.Tidy = or(cfg.Tidy, tidyEvery)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Janitor{store: s, cfg: cfg, log: cfg.Logger, back: s.Reconnected(),
		orphans: map[subjects.RunID]time.Time{}, strays: map[subjects.RunID]time.Time{}}
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// Run sweeps until ctx is done. It blocks. The times between sweeps are spread, so
// that the janitors of a fleet do not sweep together.
func (j *Janitor) Run(ctx context.Context) {
	for {
		spread := time.Duration(rand.Int64N(int64(j.cfg.Interval)/4 + 1))
		select {
		case <-ctx.Done():
			return
		case <-time.After(j.cfg.Interval - spread/2):
		}
		if err := j.Sweep(ctx); ctx.Err() == nil {
			j.tell(err)
		}
	}
}

// tell logs what became of a sweep.
func (j *Janitor) tell(err error) {
	switch {
	case err == nil:
		if lasted, was := j.trouble.Over(); was {
			j.log.Info("sweeps get finished again", "after", lasted)
		}
	case errors.Is(err, ErrForbidden):
		const what = "this user may not sweep"
		if j.trouble.Due(what, forbiddenEvery) {
			j.log.Warn(what, "advice", j.cfg.Advice, "error", err)
		}
	default:
		const what = "sweep not finished; the next one goes on"
		if j.trouble.Due(what, 0) {
			j.log.Warn(what, "error", err)
		}
	}
}

// Sweep makes one pass: end what is orphaned, evict what has been kept long enough,
// and now and then tidy what belongs to no run. It is not safe to call at once
// with itself on one Janitor.
func (j *Janitor) Sweep(ctx context.Context) (err error) {
	from := time.Now()
	defer func() {
		if j.cfg.Metrics.Swept != nil {
			j.cfg.Metrics.Swept(time.Since(from), err)
		}
	}()
	select {
	case <-j.back:
		j.forget()
		j.back = j.store.Reconnected()
	default:
	}
	v, err := j.look(ctx)
	if err != nil {
		j.forget()
		return err
	}
	now, err := j.store.brokerTime(ctx)
	if err != nil {
		return err
	}
	err = errors.Join(j.endOrphans(ctx, v, now), j.evict(ctx, v, now))
	if time.Since(j.tidied) >= j.cfg.Tidy {
		err = errors.Join(err, j.tidy(ctx))
		j.tidied = time.Now()
	}
	return err
}

// forget drops what was seen before the broker was away. Producers could not renew
// meanwhile, and get a whole lease time to come back.
func (j *Janitor) forget() {
	clear(j.orphans)
	clear(j.strays)
}

// endOrphans ends the runs whose producer has been gone for a whole lease time, as
// this janitor itself has seen, and those that a newer run of their chat replaced
// without ending them.
func (j *Janitor) endOrphans(ctx context.Context, v *view, now time.Time) error {
	var errs []error
	seen := map[subjects.RunID]time.Time{}
	for _, e := range v.entries {
		if !e.Active() {
			continue
		}
		replaced := v.replaced(e)
		if e.State == StateQueued && !replaced {
			if orphan, err := j.seeToQueued(ctx, v, e, now); !orphan {
				errs = append(errs, err)
				continue
			}
		} else if v.alive[e.Producer] && !replaced {
			continue
		}
		since, known := j.orphans[e.RunID]
		if !known {
			since = time.Now()
		}
		seen[e.RunID] = since
		if !replaced && time.Since(since) < j.cfg.Lease {
			continue
		}
		if err := j.endOrphan(ctx, e.RunID); err != nil {
			errs = append(errs, err)
		}
	}
	j.orphans = seen
	return errors.Join(errs...)
}

// endOrphan decides at the leader what the sweep's view only suggested.
func (j *Janitor) endOrphan(ctx context.Context, id subjects.RunID) error {
	e, err := j.store.Entry(ctx, id)
	if errors.Is(err, ErrNotFound) || err == nil && !e.Active() {
		return nil
	}
	if err != nil {
		return err
	}
	p, err := j.store.Pointer(ctx, e.Realm, e.ChatID)
	if err != nil {
		return err
	}
	end := subjects.End{Reason: subjects.ReasonAbandoned}
	if e.replacedBy(p) {
		end = subjects.End{Reason: subjects.ReasonSuperseded, Superseded: true, NextRunID: p.RunID}
	} else if e.State == StateQueued {
		return j.forgetQueued(ctx, e, p)
	} else if alive, err := j.store.ProducerAlive(ctx, e.Producer); err != nil || alive {
		return err
	}
	got, err := j.store.EndRun(ctx, id, end)
	if err != nil {
		return err
	}
	j.log.Warn("ended a run that nobody would have finished",
		"run", id, "reason", got.End.Reason, "seq", got.Seq, "producer", e.Producer)
	j.ended(got.End.Reason)
	return nil
}

// count calls a function that counts, if there is one.
func count(f func()) {
	if f != nil {
		f()
	}
}

func (j *Janitor) ended(why subjects.Reason) {
	if j.cfg.Metrics.Ended != nil {
		j.cfg.Metrics.Ended(why)
	}
}
