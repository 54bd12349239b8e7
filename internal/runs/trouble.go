package runs

import (
	"sync"
	"time"
)

// How often a trouble that lasts is logged again. What only an operator can mend need
// not be said as often as what may be over at any moment.
const (
	troubleEvery   = 30 * time.Second
	forbiddenEvery = 5 * time.Minute
)

// Trouble paces the lines about something that fails again and again: one when it begins,
// one whenever it becomes another trouble, and then one now and then. The zero value is no
// trouble. Its methods may be called at once.
type Trouble struct {
	mu    sync.Mutex
	what  string
	since time.Time // zero while there is none
	said  time.Time
}

// Due says of what fails whether a line about it is due: it has just begun, or the last
// one is every old. every of 0 means 30 s.
func (t *Trouble) Due(what string, every time.Duration) bool {
	if every <= 0 {
		every = troubleEvery
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if t.since.IsZero() {
		t.since = now
	} else if t.what == what && now.Sub(t.said) < every {
		return false
	}
	t.what, t.said = what, now
	return true
}

// Over ends the trouble, and says whether there was one and how long it took.
func (t *Trouble) Over() (lasted time.Duration, was bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.since.IsZero() {
		return 0, false
	}
	lasted = time.Since(t.since).Round(time.Millisecond)
	t.since = time.Time{}
	return lasted, true
}
