package stamp

// Ledger keeps account of what one observer holds of a run whose events are numbered
// from 1. The zero Ledger is that of an observer that holds nothing. It says at any time
// which events are missing below the highest it has seen, came twice, or came out of
// order.
type Ledger struct {
	held  held
	fresh held // what the snapshot that is being read has so far

	base       uint64 // held before the first event counted here
	doubled    uint64
	outOfOrder uint64
	snapshots  uint64
}

// held is a set of numbers up to top, less the holes.
type held struct {
	top     uint64
	missing uint64
	holes   holes
}

// From begins the account of an observer whose cursor is behind event n: what it holds
// until then is not counted.
func From(n uint64) Ledger { return Ledger{held: held{top: n}, base: n} }

// Add enters an event that has come whole.
func (l *Ledger) Add(n uint64) {
	doubled, late := l.held.add(n)
	l.doubled += doubled
	l.outOfOrder += late
}

// Next is the number that comes next when nothing is lost: cursor and one.
func (l *Ledger) Next() uint64 { return l.held.top + 1 }

// Begin says that a snapshot begins. What is added with AddSnapshot until Replace counts
// only then.
func (l *Ledger) Begin() { l.fresh = held{holes: l.fresh.holes[:0]} }

// AddSnapshot enters an event of the snapshot that has begun. A snapshot without event 1,
// or with a hole, is one that misses events; one that has an event twice, or has it behind
// a later one, is as wrong.
func (l *Ledger) AddSnapshot(n uint64) {
	doubled, late := l.fresh.add(n)
	l.doubled += doubled
	l.outOfOrder += late
}

// Replace says that the snapshot has come whole: it replaces all that was held.
func (l *Ledger) Replace() {
	l.held, l.fresh = l.fresh, held{holes: l.held.holes[:0]}
	l.base = 0
	l.snapshots++
}

// Snapshots is how many have come whole.
func (l *Ledger) Snapshots() uint64 { return l.snapshots }

// Counts is the account of an observer that should hold every event up to last.
func (l *Ledger) Counts(last uint64) Counts {
	c := Counts{Expected: last - min(l.base, last), Missing: l.held.missing, Doubled: l.doubled, OutOfOrder: l.outOfOrder}
	if l.held.top < last {
		c.Missing += last - l.held.top
	}
	if l.held.top > last {
		c.Doubled += l.held.top - last // nobody has sent them
	}
	c.Delivered = c.Expected - min(c.Missing, c.Expected)
	return c
}

// add enters n and says, as 0 or 1, whether it was there already, and whether it came
// behind a later one.
func (h *held) add(n uint64) (doubled, late uint64) {
	switch {
	case n == h.top+1:
		h.top = n
	case n > h.top:
		h.missing += n - h.top - 1
		if len(h.holes) < maxHoles {
			h.holes = append(h.holes, hole{h.top + 1, n})
		}
		h.top = n
	case h.holes.fill(n):
		h.missing--
		late = 1
	default:
		doubled = 1
	}
	return doubled, late
}

// Counts sums up what observers should have got and what they have.
type Counts struct {
	Expected, Delivered, Missing, Doubled, OutOfOrder uint64
}

// Add adds those of others.
func (c *Counts) Add(d Counts) {
	c.Expected += d.Expected
	c.Delivered += d.Delivered
	c.Missing += d.Missing
	c.Doubled += d.Doubled
	c.OutOfOrder += d.OutOfOrder
}

// Whole says that everything came once, in order.
func (c Counts) Whole() bool { return c.Missing == 0 && c.Doubled == 0 && c.OutOfOrder == 0 }
