package runs

import (
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// replies hears the answers to questions that have several. One subscription serves all
// questions: making one for each takes the connection's own lock twice, for which a
// thousand runs that look for something would wait.
type replies struct {
	nc *nats.Conn

	mu     sync.Mutex
	sub    *nats.Subscription // nil before listen
	inbox  string             // where answers come, with a final dot
	number uint64
	open   map[uint64]chan *nats.Msg
	closed bool
}

// listen makes ready to hear answers, before the first question.
func (r *replies) listen() error {
	inbox := r.nc.NewInbox() + "."
	sub, err := r.nc.Subscribe(inbox+"*", r.answered)
	if err != nil {
		return err
	}
	_ = sub.SetPendingLimits(-1, -1) // whoever asks bounds how much
	r.sub, r.inbox, r.open = sub, inbox, map[uint64]chan *nats.Msg{}
	return nil
}

// expect gives the subject that up to most answers may be sent to, and where they come.
// What is more than that is dropped. over is called when no more are wanted.
func (r *replies) expect(most int) (inbox string, answers <-chan *nats.Msg, over func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return "", nil, nil, nats.ErrConnectionClosed
	}
	r.number++
	n, c := r.number, make(chan *nats.Msg, most)
	r.open[n] = c
	return r.inbox + strconv.FormatUint(n, 36), c, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.open, n)
	}, nil
}

// answered hands an answer to whoever expects it.
func (r *replies) answered(m *nats.Msg) {
	n, err := strconv.ParseUint(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:], 36, 64)
	if err != nil {
		return
	}
	r.mu.Lock()
	c := r.open[n]
	r.mu.Unlock()
	select {
	case c <- m:
	default: // nobody wants it any more, or it is one too many
	}
}

// close hears nothing any more.
func (r *replies) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.sub != nil {
		_ = r.sub.Unsubscribe()
	}
}
