package runs

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

// listen takes note of the connection's last error, by which it is told later why nothing
// came back.
func (p *post) listen() {
	err := p.nc.LastError()
	p.said.Store(&err)
}

// lastError is what the connection's last error was a moment ago.
func (p *post) lastError() error { return *p.said.Load() }

// expire gives up what has been out for too long.
func (p *post) expire() {
	tick := time.NewTicker(expiryCheck)
	defer tick.Stop()
	for {
		select {
		case <-p.done:
			return
		case now := <-tick.C:
			p.listen()
			p.lose(now.Add(-attemptTimeout), context.DeadlineExceeded)
		}
	}
}

// lost gives up all that is out: the connection was lost meanwhile, and what was answered does not
// come any more.
func (p *post) lost(err error) { p.lose(time.Now(), err) }

// lose gives up what has been out since before a time.
func (p *post) lose(since time.Time, err error) {
	p.mu.Lock()
	var lost []*letter
	for n, l := range p.out {
		if l.since.Before(since) {
			delete(p.out, n)
			lost = append(lost, l)
		}
	}
	p.mu.Unlock()
	for _, l := range lost {
		l.back(nil, err)
	}
}

// close gives up everything, and takes nothing more.
func (p *post) close() {
	p.once.Do(func() {
		p.mu.Lock()
		p.closed = true
		sub := p.sub
		p.mu.Unlock()
		if sub != nil {
			_ = sub.Unsubscribe()
		}
		p.lose(time.Now().Add(time.Hour), nats.ErrConnectionClosed)
		close(p.done)
	})
	p.wg.Wait()
}
