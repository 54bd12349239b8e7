package auth

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// keyring keeps the newest good set of keys from a source. Only its run loads, so that
// there is never more than one attempt at a time, and nobody who reads waits for a lock.
type keyring struct {
	source source
	every  time.Duration // between attempts that succeed
	gap    time.Duration // the least between two, where somebody asks for one
	log    *slog.Logger

	set atomic.Pointer[keyset] // nil before the first good one

	wake chan struct{} // of capacity 1: an attempt is asked for

	mu      sync.Mutex
	running bool
	attempt chan struct{} // closed when the attempt under way, or asked for, is over; else nil
	last    time.Time     // when the last one was over
	fails   int           // how many in a row have failed
}

func newKeyring(s source, every, gap time.Duration, log *slog.Logger) *keyring {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &keyring{source: s, every: every, gap: gap, log: log, wake: make(chan struct{}, 1)}
}

// first loads a set before there is a run.
func (r *keyring) first(ctx context.Context) error {
	set, err := r.source.load(ctx)
	if err != nil {
		return err
	}
	r.take(set)
	r.last = time.Now()
	return nil
}

// run loads again and again until ctx is done.
func (r *keyring) run(ctx context.Context) {
	r.mu.Lock()
	r.running = true
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.running = false
		r.over()
	}()
	timer := time.NewTimer(r.pause())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-r.wake:
		}
		r.refresh(ctx)
		timer.Reset(r.pause())
	}
}

// firstRetry is the pause after a first failure; it doubles up to the usual one.
const firstRetry = time.Second

func (r *keyring) pause() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.every
	switch {
	case r.last.IsZero():
		return 0
	case r.fails > 0:
		d = min(d, firstRetry<<min(r.fails-1, 10))
	}
	return d - d/10 + rand.N(d/5+1) // relays that started together do not ask together
}

func (r *keyring) refresh(ctx context.Context) {
	r.mu.Lock()
	if r.attempt == nil {
		r.attempt = make(chan struct{})
	}
	r.mu.Unlock()
	set, err := r.source.load(ctx)
	if err == nil {
		r.take(set)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() == nil {
		r.note(err)
	}
	r.last = time.Now()
	r.over()
}

// over tells those who wait for the attempt. The lock is held.
func (r *keyring) over() {
	if r.attempt != nil {
		close(r.attempt)
		r.attempt = nil
	}
}

// note logs when the source goes and when it comes back. The lock is held.
func (r *keyring) note(err error) {
	switch {
	case err != nil && r.fails == 0:
		r.log.Warn("the keys cannot be read; the last good ones stay in use", "source", r.source.name,
			"have", r.set.Load() != nil, "error", err)
	case err != nil:
		r.log.Debug("the keys can still not be read", "source", r.source.name, "attempts", r.fails+1, "error", err)
	case r.fails > 0:
		r.log.Info("the keys can be read again", "source", r.source.name, "attempts", r.fails)
	}
	if err != nil {
		r.fails++
	} else {
		r.fails = 0
	}
}

// take makes a set the one in use.
func (r *keyring) take(set *keyset) {
	old := r.set.Swap(set)
	if set.same(old) {
		return
	}
	level := slog.LevelInfo
	if len(set.keys) == 0 {
		level = slog.LevelError
	}
	what := "keys for tokens"
	if r.source.use == forSigning {
		what = "keys for resume tokens"
	}
	if set.plain > 0 { // of a file that may have been given by mistake
		r.log.Log(context.Background(), level, what+": the file is taken as an HS256 secret", "source", r.source.name, "bytes", set.plain)
		return
	}
	r.log.Log(context.Background(), level, what, "source", r.source.name, "keys", set.ids(), "not_used", set.skipped)
}

// ask has the keys loaded once more, unless that was just done, and waits until it was
// or ctx is done.
func (r *keyring) ask(ctx context.Context) {
	r.mu.Lock()
	done := r.attempt
	if done == nil && (!r.running || !r.last.IsZero() && time.Since(r.last) < r.gap) {
		r.mu.Unlock()
		return
	}
	if done == nil {
		done = make(chan struct{})
		r.attempt = done
		select {
		case r.wake <- struct{}{}:
		default: // it is awake
		}
	}
	r.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// failing says whether the last attempt failed.
func (r *keyring) failing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fails > 0
}
