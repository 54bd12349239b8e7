package limits_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/test/harness"
)

// bounded is a context that ends with the test, or when it takes far too long.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	t.Cleanup(cancel)
	return ctx
}

// number is what a process says of one series, which has to exist.
func number(t *testing.T, r *harness.Rejoin, series string) float64 {
	t.Helper()
	n, err := r.Number(series)
	require.NoError(t, err)
	return n
}

// tick is an event that says when it was made, and is at least as large as asked.
func tick(size int) []byte {
	return fmt.Appendf(nil, `{"type":"CUSTOM","name":"tick","value":{"at":%d,"pad":%q}}`, time.Now().UnixNano(), strings.Repeat("x", size))
}

// publish publishes events and waits until they are stored.
func publish(ctx context.Context, t *testing.T, run *producer.Run, events ...[]byte) {
	t.Helper()
	for _, e := range events {
		_, err := run.Publish(ctx, e)
		require.NoError(t, err)
	}
	_, err := run.Flush(ctx)
	require.NoError(t, err)
}

// begin sends the request for a stream on a connection.
func begin(ctx context.Context, d *net.Dialer, url, chat string) (net.Conn, error) {
	conn, err := d.DialContext(ctx, "tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		return nil, err
	}
	body := harness.Live(chat)
	if _, err = fmt.Fprintf(conn, "POST /chat/live HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		_ = conn.Close()
	}
	return conn, err
}

// lags gathers how late events were, phase by phase.
type lags struct {
	mu    sync.Mutex
	phase int
	all   map[int][]time.Duration
}

func (l *lags) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[int][]time.Duration{}
	}
	l.all[l.phase] = append(l.all[l.phase], d)
}

// next begins the next phase.
func (l *lags) next() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.phase++
}

// p99 of a phase.
func (l *lags) p99(phase int) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all[phase]
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)*99/100]
}

var (
	dataField = []byte(`data: {"type":"STREAM_`)
	seqMember = []byte(`"seq":`)
	atMember  = []byte(`"at":`)
	endFrame  = []byte(`data: {"type":"STREAM_END"`)
)

// follow reads a stream to the end of its run as cheaply as possible: its seqs have to be
// dense, and its ticks say how late they are.
func follow(conn io.Reader, l *lags) error {
	in := bufio.NewReaderSize(conn, 4<<10)
	last := int64(-1)
	for {
		line, err := in.ReadSlice('\n')
		long := err == bufio.ErrBufferFull //nolint:errorlint // as ReadSlice returns it
		if err != nil && !long {
			return fmt.Errorf("after %d: %w", last, err)
		}
		if bytes.HasPrefix(line, dataField) {
			seq := member(line, seqMember)
			if last >= 0 && seq != last+1 && !bytes.HasPrefix(line, endFrame) {
				return fmt.Errorf("%d after %d", seq, last)
			}
			if bytes.HasPrefix(line, endFrame) {
				if seq != last {
					return fmt.Errorf("the end at %d after %d", seq, last)
				}
				return nil
			}
			if at := member(line, atMember); last >= 0 && at > 0 {
				l.add(time.Since(time.Unix(0, at)))
			}
			last = seq
		}
		for long {
			_, err = in.ReadSlice('\n')
			long = err == bufio.ErrBufferFull //nolint:errorlint // as ReadSlice returns it
		}
	}
}

// member is the number that follows its first name, 0 if none does.
func member(line, name []byte) int64 {
	_, rest, _ := bytes.Cut(line, name)
	end := 0
	for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}
	n, _ := strconv.ParseInt(string(rest[:end]), 10, 64)
	return n
}

// once sends a request on a connection of its own.
func once(ctx context.Context, method, url, body string) (status int, header http.Header, answer string, err error) {
	c, err := harness.Ask(ctx, method, url, body)
	if err != nil {
		return 0, nil, "", err
	}
	answer, err = c.Rest()
	return c.Status, c.Header, answer, err
}
