package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// Options say how to dial. The zero Options are fine.
type Options struct {
	Source [4]byte // address to dial from, see Source; zero means any
	Buffer int     // bytes that are read at once; 0 means 64 KiB
}

const defaultBuffer = 64 << 10

// Conn is one connection, for one goroutine. It is kept alive from request to request.
type Conn struct {
	nc     net.Conn
	host   string
	out    []byte
	in     []byte
	dec    decoder
	closed atomic.Bool
	stop   func() bool // forgets the context
}

// Dial connects to host:port. The connection is closed when ctx ends.
func Dial(ctx context.Context, addr string, o Options) (*Conn, error) {
	var d net.Dialer
	if o.Source != [4]byte{} {
		d.LocalAddr = &net.TCPAddr{IP: o.Source[:]}
	}
	nc, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if o.Buffer == 0 {
		o.Buffer = defaultBuffer
	}
	c := &Conn{nc: nc, host: addr, in: make([]byte, o.Buffer)}
	c.stop = context.AfterFunc(ctx, func() { _ = c.Close() })
	return c, nil
}

// Close closes the connection; what waits for it fails with ErrClosed. A second call does
// nothing. It may be called from any goroutine, and by a Handler.
func (c *Conn) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	c.stop()
	return c.nc.Close()
}

// Get asks for something that is no stream. The answer is valid until the next call.
func (c *Conn) Get(path string, headers ...Header) (status int, answer []byte, err error) {
	return c.ask(AppendGet(c.out[:0], c.host, path, headers...))
}

// Post sends a body. The answer is valid until the next call.
func (c *Conn) Post(path string, body []byte, headers ...Header) (status int, answer []byte, err error) {
	return c.ask(AppendPost(c.out[:0], c.host, path, body, headers...))
}

func (c *Conn) ask(request []byte) (int, []byte, error) {
	c.out = request
	var a answer
	c.dec.expect(&a)
	if err := c.write(request); err != nil {
		return 0, nil, err
	}
	return c.wait(&a)
}

// wait reads until there is an answer.
func (c *Conn) wait(a *answer) (int, []byte, error) {
	for !a.whole {
		if err := c.read(); err != nil {
			return 0, nil, err
		}
	}
	return a.status, a.body, nil
}

// Watch asks for a stream and tells h of it until it ends, which is no error: Answer
// has then been told, as it is of an answer that is no stream.
func (c *Conn) Watch(path string, h Handler, headers ...Header) error {
	c.out = AppendGet(c.out[:0], c.host, path, headers...)
	w := watch{Handler: h}
	c.dec.expect(&w)
	if err := c.write(c.out); err != nil {
		return err
	}
	for !w.whole {
		if err := c.read(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Conn) write(b []byte) error {
	if _, err := c.nc.Write(b); err != nil {
		return c.why(err)
	}
	return nil
}

// read reads once.
func (c *Conn) read() error {
	n, err := c.nc.Read(c.in)
	if n > 0 {
		if err := c.dec.feed(c.in[:n], time.Now()); err != nil {
			return err
		}
	}
	if err != nil {
		return c.why(err)
	}
	return nil
}

func (c *Conn) why(err error) error {
	if c.closed.Load() || errors.Is(err, net.ErrClosed) {
		return ErrClosed
	}
	return fmt.Errorf("the connection broke off: %w", err)
}

// answer keeps one answer.
type answer struct {
	status int
	body   []byte
	whole  bool
}

func (a *answer) Frame(*Frame, time.Time) {}
func (a *answer) Closed(error)            {}
func (a *answer) Answer(status int, body []byte, _ time.Time) {
	a.status, a.body, a.whole = status, body, true
}

// watch notices the end of a stream.
type watch struct {
	Handler
	whole bool
}

func (w *watch) Answer(status int, body []byte, at time.Time) {
	w.whole = true
	w.Handler.Answer(status, body, at)
}
