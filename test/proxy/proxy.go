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
	conns  map[net.Conn]bool
	refuse bool
	closed bool
	gate   [2]chan struct{} // nil: open; else closed when it opens again
}

// Start listens on a free port of the loopback interface.
func Start(target string) (*Proxy, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{target: target, ln: ln, conns: map[net.Conn]bool{}}
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
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
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
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.gate[d] = nil
		close(gate)
	})
}

// Close ends everything and waits. Release what is held first.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
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
	if !p.add(near, far) {
		return
	}
	defer p.remove(near, far)
	var both sync.WaitGroup
	both.Go(func() { p.copy(far, near, Up) })
	both.Go(func() { p.copy(near, far, Down) })
	both.Wait()
}

// copy moves bytes until either side ends, then ends the other.
func (p *Proxy) copy(to, from net.Conn, d Direction) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		p.wait(d)
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *Proxy) wait(d Direction) {
	p.mu.Lock()
	gate := p.gate[d]
	p.mu.Unlock()
	if gate != nil {
		<-gate
	}
}

func (p *Proxy) add(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	for _, c := range conns {
		p.conns[c] = true
	}
	return true
}

func (p *Proxy) remove(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.conns, c)
	}
}
