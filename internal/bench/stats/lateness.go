package stats

import "time"

// Tolerance is how long after its time a send is not late yet: what timers of a machine
// that does other work are good for.
const Tolerance = time.Millisecond

// Lateness says how well a generator keeps to its schedule. The zero Lateness is that of
// one that has not sent anything.
type Lateness struct {
	Sends uint64
	Late  uint64 // more than Tolerance after they were due
	Worst time.Duration
}

// Sent enters a send.
func (l *Lateness) Sent(due, now time.Time) {
	l.Sends++
	by := now.Sub(due)
	l.Worst = max(l.Worst, by)
	if by > Tolerance {
		l.Late++
	}
}

// Add adds that of another generator.
func (l *Lateness) Add(o Lateness) {
	l.Sends += o.Sends
	l.Late += o.Late
	l.Worst = max(l.Worst, o.Worst)
}
