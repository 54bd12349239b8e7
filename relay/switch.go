package relay

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/rejoin/rejoin/internal/killswitch"
	"github.com/rejoin/rejoin/internal/problem"
	"github.com/rejoin/rejoin/subjects"
)

// errSwitchedOff is why a chat cannot be watched at the moment.
var errSwitchedOff = errors.New("watching is switched off")

// Streams that are switched off are closed spread over this time: their clients ask for
// the polled snapshot next.
const switchWindow = 500 * time.Millisecond

// Who was refused comes back spread over this time.
const (
	minSwitchRetry = 5 * time.Second
	maxSwitchRetry = 15 * time.Second
)

// switchedOff is the answer to who wants to watch what is switched off.
func switchedOff() *problem.Error {
	return problem.New(problem.SwitchedOff, "watching is switched off here; history, GET /runs/{run_id}/snapshot and /chat/send go on").
		After(minSwitchRetry + rand.N(maxSwitchRetry-minSwitchRetry)).Because(errSwitchedOff)
}

// switchboard closes what is open when it is switched off.
type switchboard struct {
	watcher *killswitch.Watcher // nil where nothing is ever off
	metrics *Metrics

	mu   sync.Mutex
	open map[*watched]struct{}
}

// watched is what an observer watches: a chat, or a realm as a whole.
type watched struct {
	by    *observer
	realm subjects.Realm
	chat  string // "" for the realm
}

func newSwitchboard(w *killswitch.Watcher, m *Metrics) *switchboard {
	b := &switchboard{watcher: w, metrics: m, open: map[*watched]struct{}{}}
	if w != nil {
		w.Notify(b.changed)
		m.switched.Set(float64(w.Everybody()))
	}
	return b
}

// enter lets an observer watch chats of its realm, or the realm as a whole where the chat is
// "", which is off only where all of its chats are. leave is called when it is gone. The error,
// if any of them is off, wraps errSwitchedOff.
func (b *switchboard) enter(o *observer, realm subjects.Realm, chats ...string) (leave func(), err error) {
	if b.watcher == nil {
		return func() {}, nil
	}
	entered := make([]*watched, len(chats))
	b.mu.Lock()
	for i, chat := range chats {
		entered[i] = &watched{o, realm, chat}
		b.open[entered[i]] = struct{}{}
	}
	b.mu.Unlock()
	leave = func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, w := range entered {
			delete(b.open, w)
		}
	}
	// Only now, or a change in between would be missed.
	if slices.ContainsFunc(entered, b.off) {
		leave()
		return nil, switchedOff()
	}
	return leave, nil
}

// which of the chats are off, by their places.
func (b *switchboard) which(realm subjects.Realm, chats []string) []int {
	off := []int{}
	for i, chat := range chats {
		if b.off(&watched{realm: realm, chat: chat}) {
			off = append(off, i)
		}
	}
	return off
}

func (b *switchboard) off(w *watched) bool {
	if w.chat == "" {
		return b.watcher.AllOff(w.realm.Tenant())
	}
	return b.watcher.Off(w.realm, w.chat)
}

// changed sends away who watches what is off now.
func (b *switchboard) changed() {
	b.metrics.switched.Set(float64(b.watcher.Everybody()))
	b.mu.Lock()
	defer b.mu.Unlock()
	for w := range b.open {
		if b.off(w) {
			w.by.dismiss(causeSwitchedOff, switchedOff(), switchWindow)
		}
	}
}

// dismiss tells a stream to leave at some time within a window; one that waits for its
// run is answered at once.
func (o *observer) dismiss(c cause, why error, window time.Duration) {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	if !o.streaming {
		o.cancel(why)
		return
	}
	time.AfterFunc(rand.N(window+1), func() { o.tell(c) })
}
