package ops_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// balancer brings requests to the first of some relays that takes them, as a load balancer
// does that sees at once which is ready. Where it spreads, each begins with another one.
type balancer struct {
	transport *http.Transport
	targets   []*url.URL
	spread    bool

	mu     sync.Mutex
	first  int
	landed map[landing]time.Time // when a reader's newest stream began
	closed []time.Time           // when streams of the first target ended
	broken map[string]int        // requests that were broken off, other than by finding nobody: which, and how
}

// landing is one reader at one relay.
type landing struct {
	reader string
	target int
}

// readerHeader says who asks.
const readerHeader = "X-Reader"

func newBalancer(t *testing.T, relays ...string) *balancer {
	b := &balancer{landed: map[landing]time.Time{}, broken: map[string]int{}, transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	t.Cleanup(b.transport.CloseIdleConnections)
	for _, relay := range relays {
		u, err := url.Parse(relay)
		if err != nil {
			t.Fatal(err)
		}
		b.targets = append(b.targets, u)
	}
	return b
}

// client sends its requests through the balancer; its base is URL.
func (b *balancer) client() *http.Client { return &http.Client{Transport: b} }

// URL is what clients call the relays.
const balancedURL = "http://relays.test"

// RoundTrip implements http.RoundTripper.
func (b *balancer) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		_ = req.Body.Close()
	}
	from := b.begin()
	var resp *http.Response
	var err error
	for i := range b.targets {
		n := (from + i) % len(b.targets)
		again := req.Clone(req.Context())
		again.URL.Host, again.Host = b.targets[n].Host, ""
		again.Body = io.NopCloser(bytes.NewReader(body))
		resp, err = b.transport.RoundTrip(again)
		if err == nil && resp.StatusCode != http.StatusServiceUnavailable {
			b.land(req, resp, n)
			return resp, nil
		}
		b.broke(req, err)
		if req.Context().Err() != nil || i == len(b.targets)-1 {
			break
		}
		if err == nil {
			_ = resp.Body.Close()
		}
	}
	return resp, err
}

// broke counts a request that was broken off.
func (b *balancer) broke(req *http.Request, err error) {
	var op *net.OpError
	if err == nil || errors.As(err, &op) && op.Op == "dial" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	what := req.URL.Path[strings.LastIndexByte(req.URL.Path, '/'):]
	how := err.Error()
	b.broken[what+how[strings.LastIndexByte(how, ':')+1:]]++
}

// begin is the target to ask first.
func (b *balancer) begin() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spread {
		b.first = (b.first + 1) % len(b.targets)
	}
	return b.first
}

// land notes where a reader's stream is.
func (b *balancer) land(req *http.Request, resp *http.Response, target int) {
	reader := req.Header.Get(readerHeader)
	if reader == "" || resp.StatusCode != http.StatusOK {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.landed[landing{reader, target}] = time.Now()
	if target == 0 {
		resp.Body = &ending{resp.Body, sync.OnceFunc(func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.closed = append(b.closed, time.Now())
		})}
	}
}

// at is how many readers have had a stream at a target, and when the last of them came there.
func (b *balancer) at(target int) (readers int, last time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for l, when := range b.landed {
		if l.target == target {
			readers++
			if when.After(last) {
				last = when
			}
		}
	}
	return readers, last
}

// lastClosed is how many streams of the first target have ended by themselves, and when
// the last one did.
func (b *balancer) lastClosed() (streams int, last time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, when := range b.closed {
		if when.After(last) {
			last = when
		}
	}
	return len(b.closed), last
}

// ending is a body that says when it has come to its end.
type ending struct {
	io.ReadCloser
	over func()
}

func (e *ending) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		e.over()
	}
	return n, err
}
