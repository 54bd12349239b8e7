package consumer

import (
	"container/list"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/semaphore"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// HubConfig says what a hub reads from and within which bounds.
type HubConfig struct {
	Store        *runs.Store   // required
	GapThreshold uint64        // events a reader may be behind and still be replayed; 0 means subjects.GapThreshold, which is also the most
	MaxCatchUps  int           // reads of logs under way at once; 0 means 64
	MaxSnapshots int           // snapshots being built at once; 0 means 8
	MaxBytes     int           // of logs and snapshots, held for readers at once; 0 means 128 MiB, at least 1 MiB
	HoldTime     time.Duration // how long a reader may hold such bytes while others wait, and a second for each MiB; 0 means 30 s
	Linger       time.Duration // how long a tail is kept after its last reader has left; 0 means 30 s, less than 0 not at all
	Silence      time.Duration // how long a quiet tail waits before it asks; 0 means 5 s
	Metrics      HubMetrics    // the zero value counts nothing
	Logger       *slog.Logger  // may be nil
}

// HubMetrics is told what readers do. A nil function is not called; those that are
// set may be called from many goroutines at once.
type HubMetrics struct {
	Tails        func(delta int)                // observed runs
	Held         func(bytes int64, waiting int) // of HubConfig.MaxBytes, and who waits for some; must not call the hub
	Snapshot     func(cause string)             // a snapshot was given out: attach, replaced, ahead, window, gap
	Gap          func()                         // an open stream fell out of what can be replayed
	Replay       func(events int)               // a page of events was read from the log
	CatchUp      func(time.Duration)            // from attaching to the first time at the head
	SilenceFound func()                         // asking a quiet run found what the live subject had not brought
}

// Hub shares the tails of observed runs among their readers. All methods may be
// called at once.
type Hub struct {
	cfg       HubConfig
	store     *runs.Store
	log       *slog.Logger
	catchUps  *semaphore.Weighted
	snapshots *semaphore.Weighted
	checks    *semaphore.Weighted
	budget    *budget
	shelf     shelf
	segments  segments
	live      []chan *nats.Msg

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu    sync.Mutex
	tails map[subjects.RunID]*observed
	kept  kept // those of them that nobody reads
}

// The live records of all tails arrive on a few channels, each with one goroutine
// that does nothing but file them: a run stays on one channel, so its records stay
// in order. What does not fit is dropped by the client and later replayed.
const (
	liveChannels = 4
	liveBacklog  = 2048
	checksAtOnce = 32
)

// DefaultMaxBytes is HubConfig.MaxBytes unless set. A page of a run that speaks at a
// token's pace takes some 150 KiB: it is room for about 900 readers that catch up at
// once, many times what the broker serves at once, and for two snapshots of the largest
// kind that is met in practice, 50 MiB.
const DefaultMaxBytes = 128 << 20

// Defaults of HubConfig. A read of a log keeps publishers from its stream for a moment;
// a build takes as much of a core as it gets.
const (
	DefaultMaxCatchUps  = 64
	DefaultMaxSnapshots = 8
)

// NewHub makes a hub and starts its few goroutines; Close ends them.
func NewHub(cfg HubConfig) *Hub {
	if cfg.GapThreshold == 0 || cfg.GapThreshold > subjects.GapThreshold {
		cfg.GapThreshold = subjects.GapThreshold
	}
	if cfg.MaxCatchUps <= 0 {
		cfg.MaxCatchUps = DefaultMaxCatchUps
	}
	if cfg.MaxSnapshots <= 0 {
		cfg.MaxSnapshots = DefaultMaxSnapshots
	}
	if cfg.MaxBytes <= 0 {
		cfg.MaxBytes = DefaultMaxBytes
	}
	if cfg.HoldTime <= 0 {
		cfg.HoldTime = 30 * time.Second
	}
	if cfg.Linger == 0 {
		cfg.Linger = DefaultLinger
	}
	if cfg.Silence <= 0 {
		cfg.Silence = 5 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	h := &Hub{
		cfg: cfg, store: cfg.Store, log: cfg.Logger,
		catchUps:  semaphore.NewWeighted(int64(cfg.MaxCatchUps)),
		snapshots: semaphore.NewWeighted(int64(cfg.MaxSnapshots)),
		checks:    semaphore.NewWeighted(checksAtOnce),
		budget:    &budget{limit: max(int64(cfg.MaxBytes), pageRoom), told: cfg.Metrics.Held},
		shelf:     shelf{runs: map[subjects.RunID]*shared{}},
		segments:  segments{runs: map[subjects.RunID]*list.Element{}},
		tails:     map[subjects.RunID]*observed{},
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	for range liveChannels {
		ch := make(chan *nats.Msg, liveBacklog)
		h.live = append(h.live, ch)
		h.wg.Go(func() { h.file(ch) })
	}
	h.wg.Go(h.afterReconnects)
	if cfg.Linger > 0 {
		h.segments.limit = int(h.budget.limit) / cachedPart
		h.wg.Go(h.sweep)
	}
	return h
}

// Close stops the hub and waits for its goroutines. Readers that are still open get
// no more live events; those that have everything else get ErrBrokerUnavailable.
func (h *Hub) Close() {
	h.cancel()
	h.mu.Lock()
	for _, o := range h.tails {
		o.stop()
	}
	h.mu.Unlock()
	for _, ch := range h.live {
		select {
		case ch <- nil: // the end of it
		default: // what it is full of tells, too
		}
	}
	h.wg.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range h.tails {
		o.tail.unanswered()
	}
}

// file hands live records to the tails they belong to, until one is nil or the hub is closed.
func (h *Hub) file(ch <-chan *nats.Msg) {
	for m := range ch {
		if m == nil || h.ctx.Err() != nil {
			return
		}
		id := subjects.RunID(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:])
		h.mu.Lock()
		o := h.tails[id]
		h.mu.Unlock()
		if o == nil {
			continue // its last reader has just left
		}
		r, err := subjects.ParseRecord(m.Header, m.Data)
		if err != nil {
			h.log.Warn("a live message is no record; readers will replay", "run", id, "error", err)
			continue
		}
		// The broker says where it is stored; a message without that says 0.
		seq, _ := strconv.ParseUint(m.Header.Get(nats.JSSequence), 10, 64)
		o.tail.apply(&runs.Stored{Record: r, StreamSeq: seq})
	}
}

// afterReconnects asks for every observed run what was missed, each time the
// connection comes back. Tails that nobody reads are not worth a question.
func (h *Hub) afterReconnects() {
	back := h.store.Reconnected()
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-back:
		}
		back = h.store.Reconnected() // the next one may come before all are asked
		h.mu.Lock()
		for h.kept.oldest() != nil {
			h.dropOldest()
		}
		all := make([]*observed, 0, len(h.tails))
		for _, o := range h.tails {
			all = append(all, o)
		}
		h.mu.Unlock()
		for _, o := range all {
			o.recheck(0)
		}
	}
}

// refresh asks the leader for the run's last record and tells the tail.
func (h *Hub) refresh(ctx context.Context, t *tail) error {
	last, err := h.store.Last(ctx, t.id)
	switch {
	case err == nil:
		t.apply(&last)
		return nil
	case !errors.Is(err, runs.ErrNotFound) && !errors.Is(err, runs.ErrLogLost):
		return err
	}
	e, err := h.store.Entry(ctx, t.id)
	if err != nil && !errors.Is(err, runs.ErrNotFound) {
		return err
	}
	if errors.Is(err, runs.ErrNotFound) {
		e = nil
	}
	t.lose(e)
	return nil
}
