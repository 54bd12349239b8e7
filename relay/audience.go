package relay

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
)

const (
	// aloneUpTo is how many observers a run may have here whose streams wake by themselves:
	// with few, a row would only be one more to wake.
	aloneUpTo = 7
	// rowSize is how many sit in a row before there is another one, for another processor.
	rowSize = 64
)

// mostRows is how many rows a run may have: on half of the processors. The other half is for
// everything else that a frame needs on its way, other runs among it. Two rows on two
// processors have the first who are written to wait for the last.
func mostRows() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// audiences are those who watch the same run, by run. Of many that have everything so far,
// none wakes for what comes next: rows of them are written to, one after the other, with
// bytes that are encoded once. Whoever does not take them at once, or needs anything else,
// is given back to the stream that it belongs to.
type audiences struct {
	hub    *consumer.Hub
	quiet  time.Duration // the longest time that a row writes nothing
	spread func() time.Duration
	count  *frameCounts
	ctx    context.Context // its end is the end of all rows
	most   int             // rows of one run
	wg     sync.WaitGroup  // rows

	mu   sync.Mutex
	runs map[subjects.RunID]*audience
}

// audience is those who watch one run.
type audience struct {
	of *audiences
	id subjects.RunID
	n  int // guarded by audiences.mu: who watches, sitting or not

	many atomic.Bool

	mu   sync.Mutex // taken before a row's
	rows []*row
}

func newAudiences(ctx context.Context, hub *consumer.Hub, keepAlive time.Duration, spread func() time.Duration, count *frameCounts) *audiences {
	return &audiences{hub: hub, quiet: keepAlive - keepAlive/lendWithin, spread: spread, count: count, ctx: ctx,
		most: mostRows(), runs: map[subjects.RunID]*audience{}}
}

// enter counts one more who watches a run; leave is called when it does not any more.
func (all *audiences) enter(id subjects.RunID) *audience {
	all.mu.Lock()
	defer all.mu.Unlock()
	a := all.runs[id]
	if a == nil {
		a = &audience{of: all, id: id}
		all.runs[id] = a
	}
	a.n++
	a.many.Store(a.n > aloneUpTo)
	return a
}

func (a *audience) leave() {
	a.of.mu.Lock()
	defer a.of.mu.Unlock()
	a.n--
	a.many.Store(a.n > aloneUpTo)
	if a.n == 0 {
		delete(a.of.runs, a.id)
	}
}

// wait returns when there are no rows any more; ctx has ended.
func (all *audiences) wait() { all.wg.Wait() }

// seat puts a member into a row; false says that there is none for it: it polls by itself.
func (a *audience) seat(m *member) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of.ctx.Err() != nil {
		return false
	}
	var best *row
	least := 0
	for _, r := range a.rows {
		if n := r.size(); best == nil || n < least {
			best, least = r, n
		}
	}
	if best == nil || least >= rowSize && len(a.rows) < a.of.most {
		best = newRow(a, m)
		a.rows = append(a.rows, best)
		return true
	}
	return best.add(m)
}

// without removes a row that is over.
func (a *audience) without(over *row) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, r := range a.rows {
		if r == over {
			a.rows = append(a.rows[:i], a.rows[i+1:]...)
			return
		}
	}
}
