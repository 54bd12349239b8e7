package runs

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// post brings messages to the streams of the fabric and their acknowledgements back. One
// subscription hears all of them, and of many who have something to publish at once one
// goroutine does it for all: a connection's own lock, which its flusher holds while it
// writes, would otherwise make each of a thousand runs wait for every other.
type post struct {
	nc   *nats.Conn
	wake chan struct{} // there is something in queue
	done chan struct{}
	wg   sync.WaitGroup
	once sync.Once
	said atomic.Pointer[error] // the connection's last error a moment ago

	mu     sync.Mutex
	sub    *nats.Subscription // of acknowledgements; nil before the first message
	inbox  string             // where they come, with a final dot
	number uint64
	out    map[uint64]*letter // sent or to be sent, and not answered
	busy   bool               // somebody publishes
	queue  []*letter          // who does so has these to publish too
	closed bool
}

// letter is one message on its way. Its sender may use it again once it is free and was
// acknowledged: one that was given up may still be in the queue.
type letter struct {
	msg    nats.Msg
	number uint64
	since  time.Time
	before error       // what the connection's last error was
	free   atomic.Bool // it was published, or could not be: nobody reads msg any more
	of     *Appender   // nil for what send sends

	// back is called once each time that the letter was taken, with what came back. It is
	// called by whoever hears that for all letters, so it must not wait.
	back func(ack *nats.Msg, err error)
}

// expiryCheck is how often it is looked for what has been out for longer than attemptTimeout.
const expiryCheck = 250 * time.Millisecond

func newPost(nc *nats.Conn) *post {
	p := &post{nc: nc, wake: make(chan struct{}, 1), done: make(chan struct{}), out: map[uint64]*letter{}}
	p.listen()
	p.wg.Go(p.publishQueued)
	p.wg.Go(p.expire)
	return p
}

// send publishes m and waits for what the broker answers. It gives up after attemptTimeout, when
// ctx does, and when the connection was lost meanwhile; then, and only then, it is unknown
// whether m was or will be stored. before is what the connection's last error was.
//
// m is not changed, and must not be as long as it may be on its way.
func (p *post) send(ctx context.Context, m *nats.Msg) (ack *nats.Msg, before error, err error) {
	back := make(chan struct{})
	l := &letter{before: p.lastError(), back: func(a *nats.Msg, e error) {
		ack, err = a, e
		close(back)
	}}
	l.msg.Subject, l.msg.Header, l.msg.Data = m.Subject, m.Header, m.Data
	if ctx.Err() != nil {
		return nil, l.before, ctx.Err()
	}
	if err := p.take(l, false); err != nil {
		return nil, l.before, err
	}
	select {
	case <-back:
	case <-ctx.Done():
		p.withdraw(l, ctx.Err())
		<-back
	}
	return ack, l.before, err
}

// take takes a letter in and publishes it, or leaves that to whoever publishes already. With
// leave it is left in any case, so that nothing is waited for. The error says that nothing
// was taken in.
func (p *post) take(l *letter, leave bool) error {
	l.since = time.Now()
	l.free.Store(false)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nats.ErrConnectionClosed
	}
	if l.of != nil && l.of.over {
		return context.Canceled
	}
	if err := p.subscribe(); err != nil {
		return err
	}
	p.number++
	l.number = p.number
	p.out[l.number] = l
	switch {
	case p.busy:
		p.queue = append(p.queue, l)
		return nil
	case leave:
		p.queue = append(p.queue, l)
	default:
		p.busy = true
		p.mu.Unlock()
		p.publish(l)
		p.mu.Lock()
	}
	if p.busy = len(p.queue) > 0; p.busy {
		p.wake <- struct{}{} // it is idle
	}
	return nil
}

// subscribe makes ready to hear acknowledgements. The caller holds mu.
func (p *post) subscribe() error {
	if p.sub != nil {
		return nil
	}
	inbox := p.nc.NewInbox() + "."
	sub, err := p.nc.Subscribe(inbox+"*", p.answered)
	if err != nil {
		return err
	}
	_ = sub.SetPendingLimits(-1, -1) // no more than one for each letter
	p.sub, p.inbox = sub, inbox
	return nil
}

func (p *post) publish(l *letter) {
	var room [64]byte
	l.msg.Reply = string(strconv.AppendUint(append(room[:0], p.inbox...), l.number, 36))
	err := p.nc.PublishMsg(&l.msg)
	if err != nil {
		p.withdraw(l, err)
	}
	l.free.Store(true)
}

// publishQueued publishes what came while somebody else did, until all is out.
func (p *post) publishQueued() {
	var letters []*letter
	for {
		select {
		case <-p.done:
			return
		case <-p.wake:
		}
		for {
			p.mu.Lock()
			clear(letters)
			letters, p.queue = p.queue, letters[:0]
			if p.busy = len(letters) > 0; !p.busy {
				p.mu.Unlock()
				break
			}
			p.mu.Unlock()
			for _, l := range letters {
				p.publish(l)
			}
		}
	}
}

// answered hears what the broker says of a letter.
func (p *post) answered(m *nats.Msg) {
	dot := strings.LastIndexByte(m.Subject, '.')
	n, err := strconv.ParseUint(m.Subject[dot+1:], 36, 64)
	if err != nil {
		return
	}
	p.mu.Lock()
	l := p.out[n]
	delete(p.out, n)
	p.mu.Unlock()
	if l != nil {
		l.back(m, nil)
	}
}

// withdraw tells a letter's sender that nothing comes back any more, unless something has.
func (p *post) withdraw(l *letter, err error) {
	p.mu.Lock()
	out := p.out[l.number] == l
	if out {
		delete(p.out, l.number)
	}
	p.mu.Unlock()
	if out {
		l.back(nil, err)
	}
}
