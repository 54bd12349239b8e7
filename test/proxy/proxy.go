package proxy

import (
	"errors"
	"net"
	"sync"
)

// Direction is one of the two ways through a proxy.
type Direction int

// Up is towards the target, Down is back to whoever connected.
const (
	Up Direction = iota
	Down
)

// Proxy forwards connections to one target. Its methods may be called at once.
type Proxy struct {
	target string
	ln     net.Listener
	wg     sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]*link
	refuse bool
	closed bool
	gate   [2]chan struct{} // nil: open; else closed when it opens again
	budget int              // what the next connection may bring back; 0: anything
	taken  int              // connections let through so far
	taps   [2]func([]byte)
}

// held is about how much of what the target sends is taken from it while Down is held.
const held = 256 << 10

// link is one connection through the proxy. Guarded by mu.
type link struct {
	silent bool
	left   int // bytes that may still come back; below 0: any number
}

// Start listens on a free port of the loopback interface.
func Start(target string) (*Proxy, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{target: target, ln: ln, conns: map[net.Conn]*link{}}
	p.wg.Go(p.accept)
	return p, nil
}

// Addr is the address to connect to.
func (p *Proxy) Addr() string { return p.ln.Addr().String() }

// Cut ends every open connection at once, without a farewell.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		reset(c)
	}
}

// reset ends a connection without a farewell.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// CutAfter lets the next connection bring back n bytes, at least one, and then ends
// it, as the kernel does for a process that was killed. Those after it are whole.
func (p *Proxy) CutAfter(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.budget = n
}

// Silence makes the connections that are open now lose every byte, both ways, as
// when packets are dropped: neither side learns of it. New ones pass.
func (p *Proxy) Silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.conns {
		l.silent = true
	}
}

// Taken counts the connections let through so far.
func (p *Proxy) Taken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}

// Refuse makes new connections end at once, or lets them through again.
func (p *Proxy) Refuse(yes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = yes
}

// Hold keeps the bytes of one direction back until release is called, which may be
// done twice. Connections stay open.
func (p *Proxy) Hold(d Direction) (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gate[d] != nil {
		panic("proxy: the direction is already held")
	}
	gate := make(chan struct{})
	p.gate[d] = gate
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.open(d, gate)
	}
}

// open lets a direction pass that is still held by the gate. Callers hold mu.
func (p *Proxy) open(d Direction, gate chan struct{}) {
	if gate != nil && p.gate[d] == gate {
		p.gate[d] = nil
		close(gate)
	}
}

// Close ends everything, what is held too, and waits.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	for d := range p.gate {
		p.open(Direction(d), p.gate[d])
	}
	p.mu.Unlock()
	_ = p.ln.Close()
	p.Cut()
	p.wg.Wait()
}

func (p *Proxy) accept() {
	for {
		near, err := p.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			p.wg.Go(func() { p.serve(near) })
		}
	}
}

func (p *Proxy) serve(near net.Conn) {
	defer near.Close()
	p.mu.Lock()
	turnedAway := p.refuse || p.closed
	p.mu.Unlock()
	if turnedAway {
		return
	}
	far, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer far.Close()
	if tcp, ok := far.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(held) // or megabytes would pass before a Hold is felt
	}
	l := p.add(near, far)
	if l == nil {
		return
	}
	defer p.remove(near, far)
	var both sync.WaitGroup
	both.Go(func() { p.copy(far, near, Up, l) })
	both.Go(func() { p.copy(near, far, Down, l) })
	both.Wait()
}

// copy moves bytes until either side ends, then ends the other.
func (p *Proxy) copy(to, from net.Conn, d Direction, l *link) {
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		p.show(d, buf[:n])
		p.wait(d)
		n, more, lost := p.spend(l, d, n)
		if n > 0 && !lost {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		switch {
		case lost && err != nil && d == Down:
			return // nor does the near side learn that the far one is gone
		case !more, err != nil:
			_ = to.Close()
			return
		}
	}
}

// spend says how many of n bytes may pass, whether more may follow, and whether the
// connection has gone silent.
func (p *Proxy) spend(l *link, d Direction, n int) (pass int, more, lost bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d == Down && l.left >= 0 {
		n = min(n, l.left)
		l.left -= n
		return n, l.left > 0, l.silent
	}
	return n, true, l.silent
}

func (p *Proxy) wait(d Direction) {
	p.mu.Lock()
	gate := p.gate[d]
	p.mu.Unlock()
	if gate != nil {
		<-gate
	}
}

func (p *Proxy) add(conns ...net.Conn) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	l := &link{left: -1}
	if p.budget > 0 {
		l.left, p.budget = p.budget, 0
	}
	p.taken++
	for _, c := range conns {
		p.conns[c] = l
	}
	return l
}

func (p *Proxy) remove(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.conns, c)
	}
}
