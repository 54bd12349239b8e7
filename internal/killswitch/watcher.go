package killswitch

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// Config of a Watcher.
type Config struct {
	Store    *runs.Store   // required
	Interval time.Duration // how often all settings are read; 0 means 1 s
	Logger   *slog.Logger  // may be nil
}

// Watcher knows what is off at the moment. All of it is safe for concurrent use.
type Watcher struct {
	cfg  Config
	log  *slog.Logger
	stop func() // of what Open has subscribed to

	order   sync.Mutex // held while a change is told, and not for asking what is off
	calls   []func()
	mu      sync.RWMutex
	known   state
	changed chan struct{}
}

// readTimeout bounds how long the settings may take to be read.
const readTimeout = 5 * time.Second

// Open listens for changes and reads what is set. The error is what kept the broker from
// answering. The store stays the caller's; Run or Close have to be called.
func Open(ctx context.Context, cfg Config) (*Watcher, error) {
	w := &Watcher{cfg: cfg, log: cfg.Logger, known: state{}, changed: make(chan struct{})}
	if w.log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
	if w.cfg.Interval <= 0 {
		w.cfg.Interval = time.Second
	}
	var err error
	if w.stop, err = cfg.Store.WatchSwitches(func(sw runs.Switch) { w.take(sw) }); err != nil {
		return nil, err
	}
	if err := w.read(ctx); err != nil {
		w.stop()
		return nil, err
	}
	return w, nil
}

// Run keeps the settings up to date until ctx is done, and then listens no more: what was
// last known stays. It is called once.
func (w *Watcher) Run(ctx context.Context) {
	defer w.stop()
	again := time.NewTicker(w.cfg.Interval)
	defer again.Stop()
	away := false
	for {
		back := w.cfg.Store.Reconnected()
		select {
		case <-ctx.Done():
			return
		case <-back:
		case <-again.C:
		}
		err := w.read(ctx)
		if ctx.Err() == nil && (err != nil) != away {
			if away = err != nil; away {
				w.log.Warn("the switches cannot be read; what was last known stays", "error", err)
			} else {
				w.log.Info("the switches can be read again")
			}
		}
	}
}

// Close stops listening, where Run is not called. It may be called twice.
func (w *Watcher) Close() { w.stop() }

// Off says whether the chat may not be watched at the moment.
func (w *Watcher) Off(realm subjects.Realm, chat string) bool {
	return Off(realm, chat, w.Percent(realm.Tenant()))
}

// AllOff says whether none of a tenant's chats may be watched at the moment.
func (w *Watcher) AllOff(tenant string) bool { return w.Percent(tenant) >= 100 }

// Percent is how many of a tenant's chats are off at the moment.
func (w *Watcher) Percent(tenant string) int {
	key, err := subjects.SwitchKey(tenant)
	w.mu.RLock()
	defer w.mu.RUnlock()
	if err != nil { // no tenant has such a name
		key = subjects.SwitchAllKey
	}
	return w.known.percent(subjects.SwitchAllKey, key)
}

// Changed is closed when a setting next changes. Ask for it before asking what is off.
func (w *Watcher) Changed() <-chan struct{} {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.changed
}

// Everybody is the percentage of everybody's own setting.
func (w *Watcher) Everybody() int {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.known[subjects.SwitchAllKey].Percent
}

// Notify has f called after every change, for as long as the watcher runs. Calls come one
// after the other; while one takes, no further change is taken in, so f should be short.
func (w *Watcher) Notify(f func()) {
	w.order.Lock()
	defer w.order.Unlock()
	w.calls = append(w.calls, f)
}

// read reads all settings. What is known and was not read is asked for at the leader: it
// may be gone, or not yet where the answer came from.
func (w *Watcher) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	all, err := w.cfg.Store.Switches(ctx)
	if err != nil {
		return err
	}
	w.take(all...)
	w.mu.RLock()
	missing := w.known.missing(all)
	w.mu.RUnlock()
	for key, revision := range missing {
		sw, err := w.cfg.Store.Switch(ctx, key)
		switch {
		case errors.Is(err, runs.ErrNotFound):
			w.forget(key, revision)
		case err != nil:
			return err
		default:
			w.take(sw)
		}
	}
	return nil
}

// take takes in what was read or heard.
func (w *Watcher) take(stored ...runs.Switch) {
	w.change(func() []known { return w.known.merge(stored...) })
}

// forget drops a setting that is gone, unless it has come again meanwhile.
func (w *Watcher) forget(key string, revision uint64) {
	w.change(func() []known { return w.known.forget(key, revision) })
}

// change changes what is known and tells of it, in order.
func (w *Watcher) change(do func() []known) {
	w.order.Lock()
	defer w.order.Unlock()
	w.mu.Lock()
	changed := do()
	if len(changed) > 0 {
		close(w.changed)
		w.changed = make(chan struct{})
	}
	w.mu.Unlock()
	for _, k := range changed {
		if k.bad {
			w.log.Error("a switch cannot be read and counts as on", "for", k.Target.String())
		} else {
			w.log.Warn("watching is switched", "for", k.Target.String(), "percent_off", k.Setting.Percent,
				"by", k.By, "reason", k.Reason, "at", k.At)
		}
	}
	if len(changed) > 0 {
		for _, f := range w.calls {
			f()
		}
	}
}
