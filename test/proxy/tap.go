package proxy

// Tap shows whatever comes in a direction to see, before it goes on; nil ends that. see
// is called by many connections at once. It may block, which keeps back what it was shown,
// and may use the proxy.
func (p *Proxy) Tap(d Direction, see func([]byte)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taps[d] = see
}

func (p *Proxy) show(d Direction, b []byte) {
	p.mu.Lock()
	see := p.taps[d]
	p.mu.Unlock()
	if see != nil && len(b) > 0 {
		see(b)
	}
}
