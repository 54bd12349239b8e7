package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Handler takes what the other side says, in order, each call after the one before has
// returned. A handler that blocks blocks the other side.
type Handler interface {
	// Notify takes a notification, of any method. params may be nil.
	Notify(method string, params json.RawMessage)

	// Request takes a request. It is answered by reply, at once or later; a request of
	// an unknown method with an Error of CodeMethodNotFound.
	Request(method string, params json.RawMessage, reply Reply)
}

// Reply answers a request, once: further calls do nothing. It may be called from
// anywhere and at any time. An err that is no *Error is sent as an internal error. A nil
// result without an error is sent as an empty object.
type Reply func(result any, err error)

// Config configures a Peer.
type Config struct {
	Handler Handler // required

	MaxLine      int           // longest line taken, in bytes; 0 means 16 MiB
	MaxOpen      int           // requests of the other side without a reply yet; 0 means 256
	WriteTimeout time.Duration // how long 32 KiB may take to be written; 0 means 10 s

	// Junk is called with each line that was skipped, in order, as Handler is. The
	// line is valid until it returns. nil means that lines are only counted.
	Junk func(line []byte)
}

// Peer is one end of a connection. Its methods may be called from anywhere.
type Peer struct {
	cfg  Config
	r    io.ReadCloser
	w    io.WriteCloser
	out  chan []byte
	done chan struct{}

	mu    sync.Mutex
	calls map[uint64]func(json.RawMessage, error) // nil once the peer is over
	last  uint64                                  // id of the last call
	err   error

	open, junk, unknown atomic.Int64
}

// New makes a peer that reads r and writes w, both of which it closes when it is over.
// Closing them must end a Read or Write under way. Nothing is read before Run.
func New(r io.ReadCloser, w io.WriteCloser, cfg Config) *Peer {
	if cfg.MaxLine <= 0 {
		cfg.MaxLine = 16 << 20
	}
	if cfg.MaxOpen <= 0 {
		cfg.MaxOpen = 256
	}
	if cfg.WriteTimeout <= 0 {
		cfg.WriteTimeout = 10 * time.Second
	}
	return &Peer{
		cfg: cfg, r: r, w: w,
		out:   make(chan []byte, queued),
		done:  make(chan struct{}),
		calls: map[uint64]func(json.RawMessage, error){},
	}
}

// Run reads and writes until the peer is over and returns why, as Err does. It is called
// once. When it returns, no handler runs any more.
func (p *Peer) Run() error {
	var writer sync.WaitGroup
	writer.Go(p.write)
	defer writer.Wait()

	lines := newLineReader(p.r, p.cfg.MaxLine)
	for {
		line, err := lines.next()
		switch {
		case errors.Is(err, ErrLineTooLong):
			p.Fail(err)
		case errors.Is(err, io.EOF):
			p.Fail(ErrEnded)
		case err != nil:
			p.Fail(fmt.Errorf("%w: %w", ErrEnded, err))
		}
		if err != nil {
			return p.Err()
		}
		if !parse(line, p.take) {
			p.junk.Add(1)
			if p.cfg.Junk != nil {
				p.cfg.Junk(line)
			}
		}
	}
}

// take handles one message of the other side.
func (p *Peer) take(m *message) {
	switch {
	case m.Method == "":
		p.response(m)
	case len(m.ID) == 0:
		p.cfg.Handler.Notify(m.Method, m.Params)
	default:
		p.request(m)
	}
}

func (p *Peer) request(m *message) {
	var once sync.Once
	id := m.ID
	answer := func(result any, err error) {
		once.Do(func() {
			p.open.Add(-1)
			p.answer(id, result, err)
		})
	}
	if p.open.Add(1) > int64(p.cfg.MaxOpen) {
		answer(nil, Errorf(CodeInternal, "more than %d requests are open", p.cfg.MaxOpen))
		return
	}
	p.cfg.Handler.Request(m.Method, m.Params, answer)
}

// answer sends a response. One that cannot be sent is lost with the peer.
func (p *Peer) answer(id json.RawMessage, result any, err error) {
	m := &message{ID: id}
	if err == nil {
		m.Result, err = raw(result)
	}
	if err != nil {
		m.Result = nil
		m.Error, _ = json.Marshal(replyError(err))
	}
	_ = p.send(context.Background(), m)
}

// Fail ends the peer and gives the reason, unless it has ended already. Calls that wait
// get the reason.
func (p *Peer) Fail(reason error) {
	p.mu.Lock()
	calls := p.calls
	if calls == nil {
		p.mu.Unlock()
		return
	}
	p.calls, p.err = nil, reason
	p.mu.Unlock()
	close(p.done)
	_ = p.w.Close()
	_ = p.r.Close()
	for _, done := range calls {
		done(nil, reason)
	}
}

// Close ends the peer with ErrClosed.
func (p *Peer) Close() { p.Fail(ErrClosed) }

// Done is closed when the peer is over. Run returns soon after.
func (p *Peer) Done() <-chan struct{} { return p.done }

// Err says why the peer is over, nil while it is not.
func (p *Peer) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Junk is how many lines were skipped, Unknown how many responses had no call.
func (p *Peer) Junk() int64    { return p.junk.Load() }
func (p *Peer) Unknown() int64 { return p.unknown.Load() }
