package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rejoin/rejoin/internal/bench/report"
	"github.com/rejoin/rejoin/internal/bench/stamp"
)

// followers are clients of one run over net/http, whose bytes on the wire are counted. What
// they cost themselves is not measured.
type followers struct {
	ctx      context.Context
	cancel   context.CancelFunc
	addr     string
	client   *http.Client
	received atomic.Int64 // bytes on all connections, heads included
	over     chan struct{}
	all      sync.WaitGroup

	mu     sync.Mutex
	counts []func(last uint64) stamp.Counts // of each that has come to its end
	failed error
}

func newFollowers(ctx context.Context, addr string) *followers {
	f := &followers{addr: addr, over: make(chan struct{})}
	f.ctx, f.cancel = context.WithCancel(ctx)
	f.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 10_000, DisableCompression: true,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &countedConn{conn, &f.received}, nil
		}}}
	return f
}

// countedConn counts what is read.
type countedConn struct {
	net.Conn
	received *atomic.Int64
}

func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received.Add(int64(n))
	return n, err
}

// stop breaks off what is still open.
func (f *followers) stop() {
	f.cancel()
	f.all.Wait()
	f.client.CloseIdleConnections()
}

// finish waits until those with a stream have seen its end, and those who ask have asked
// once more, and says what all of them hold of the events up to last.
func (f *followers) finish(last uint64) (sum report.Counts, err error) {
	close(f.over)
	late := time.AfterFunc(patience, f.cancel)
	defer late.Stop()
	f.all.Wait()
	var all stamp.Counts
	for _, of := range f.counts {
		all.Add(of(last))
	}
	return counted(all, 0), f.failed
}

// open has n clients keep a stream open, and returns once each has its first bytes.
func (f *followers) open(n int, path string) error {
	came := make(chan struct{}, n)
	for range n {
		f.all.Go(func() { f.done(f.stream(path, came)) })
	}
	for range n {
		select {
		case <-came:
		case <-time.After(patience):
			f.cancel()
			f.all.Wait()
			return errors.Join(errors.New("not every stream has begun"), f.failed)
		}
	}
	return nil
}

// stream reads one stream to its end. No snapshot with events in it is expected on it:
// whoever falls behind is counted as wrong here.
func (f *followers) stream(path string, came chan<- struct{}) (*stamp.Ledger, error) {
	resp, err := f.get(path)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	r := bufio.NewReader(resp.Body)
	if _, err := r.Peek(1); err != nil {
		return nil, err
	}
	came <- struct{}{}
	var ledger stamp.Ledger
	var scan stamp.Scanner
	buf := make([]byte, 16<<10)
	for {
		n, err := r.Read(buf)
		for number := range scan.Scan(buf[:n]) {
			ledger.Add(number)
		}
		switch {
		case errors.Is(err, io.EOF):
			return &ledger, nil
		case err != nil:
			return nil, err
		}
	}
}

// poll has n clients ask again and again, evenly spread. events says that the answer has
// the run's events in it.
func (f *followers) poll(n int, path string, events bool) {
	for i := range n {
		f.all.Go(func() {
			wait := time.NewTimer(pollEvery * time.Duration(i) / time.Duration(n))
			defer wait.Stop()
			var ledger stamp.Ledger
			for last := false; ; {
				select {
				case <-wait.C:
				case <-f.over:
					last = true
				case <-f.ctx.Done():
					f.done(nil, f.ctx.Err())
					return
				}
				wait.Reset(pollEvery)
				err := f.ask(path, &ledger)
				switch {
				case err != nil:
					f.done(nil, err)
					return
				case last && events:
					f.done(&ledger, nil)
					return
				case last:
					return
				}
			}
		})
	}
}

// ask gets an answer, which replaces what is held.
func (f *followers) ask(path string, ledger *stamp.Ledger) error {
	resp, err := f.get(path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	ledger.Begin()
	for n := range stamp.Scan(body) {
		ledger.AddSnapshot(n)
	}
	ledger.Replace()
	return nil
}

func (f *followers) get(path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(f.ctx, http.MethodGet, "http://"+f.addr+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := f.client.Do(req)
	if err == nil && resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("%w: %s", errRefused, resp.Status)
	}
	return resp, err
}

// done keeps what one of them holds, or why it failed.
func (f *followers) done(ledger *stamp.Ledger, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.failed = errors.Join(f.failed, err)
		return
	}
	f.counts = append(f.counts, ledger.Counts)
}
