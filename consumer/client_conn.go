package consumer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"time"
)

// steadyAfter is how long a connection must have been alive to count as good
// although it brought nothing new. Longer than any wait between attempts, so
// that coming back for ever cannot become a load.
const steadyAfter = 30 * time.Second

// errNothing is a 204: what it means depends on what is held.
var errNothing = errors.New("HTTP 204")

// conn is one open SSE response.
type conn struct {
	ctx      context.Context
	cancel   context.CancelCauseFunc
	body     *heard
	dec      *Decoder
	opened   time.Time
	fruitful bool // it moved the client on
}

// dial makes one attempt to watch a run.
func (c *caller) dial(ctx, call context.Context, request []byte, wait time.Duration) (*conn, error) {
	return c.open(ctx, call, http.MethodPost, "/chat/live", http.Header{"Content-Type": {"application/json"}}, request, wait)
}

// open makes one attempt to open a stream. ctx is the stream's: it bounds the life of the
// connection; call is that of the Next that waits, and bounds only the attempt.
func (c *caller) open(ctx, call context.Context, method, path string, header http.Header, request []byte, wait time.Duration) (_ *conn, err error) {
	connCtx, cancel := context.WithCancelCause(ctx)
	defer func() {
		if err != nil {
			err = cause(connCtx, err)
			cancel(err)
		}
	}()
	defer context.AfterFunc(call, func() { cancel(context.Cause(call)) })()
	limit := time.AfterFunc(wait+c.client.HeaderTimeout, func() {
		cancel(fmt.Errorf("%w: no answer within %v", ErrTimeout, wait+c.client.HeaderTimeout))
	})
	defer limit.Stop() // runs out on the body of an error too

	all := http.Header{
		"Accept":          {"text/event-stream"},
		"Accept-Encoding": {"identity"}, // compression buffers
		"Cache-Control":   {"no-store"},
	}
	maps.Copy(all, header)
	resp, err := c.do(connCtx, method, path, all, request)
	if err != nil {
		return nil, err
	}
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNoContent:
		discard(resp)
		return nil, errNothing
	default:
		return nil, readError(resp)
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "text/event-stream" {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("%w: Content-Type %.100q", ErrContentType, resp.Header.Get("Content-Type"))
	}
	return newConn(connCtx, cancel, resp.Body, &c.client), nil
}

func newConn(ctx context.Context, cancel context.CancelCauseFunc, body io.ReadCloser, c *Client) *conn {
	h := listen(body, c.IdleTimeout, cancel)
	dec := NewDecoder(h)
	dec.Limit = c.MaxMessage
	return &conn{ctx: ctx, cancel: cancel, body: h, dec: dec, opened: h.last}
}

// next returns the next frame of a type that is known.
func (c *conn) next() (Frame, error) {
	for {
		m, err := c.dec.Next()
		if errors.Is(err, io.EOF) {
			return Frame{}, fmt.Errorf("closed without STREAM_END: %w", io.ErrUnexpectedEOF)
		}
		if err != nil {
			return Frame{}, cause(c.ctx, err)
		}
		if m.Event != "" && m.Event != "message" {
			continue
		}
		f, err := ParseFrame(m.Data)
		if errors.Is(err, ErrUnknownFrame) {
			continue
		}
		return f, err
	}
}

// good reports whether the connection was worth having.
func (c *conn) good() bool {
	return c.fruitful || c.body.last.Sub(c.opened) >= steadyAfter
}

func (c *conn) close() {
	c.cancel(ErrClosed)
	_ = c.body.Close()
}

// cause prefers the reason for which ctx was ended to the error that this led to.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// heard cancels when a read takes too long. The time that the application takes
// between reads does not count.
type heard struct {
	io.ReadCloser
	limit time.Duration
	alarm *time.Timer
	last  time.Time // when a byte last arrived
}

func listen(body io.ReadCloser, limit time.Duration, cancel context.CancelCauseFunc) *heard {
	alarm := time.AfterFunc(limit, func() { cancel(fmt.Errorf("%w: not a byte for %v", ErrTimeout, limit)) })
	alarm.Stop()
	return &heard{ReadCloser: body, limit: limit, alarm: alarm, last: time.Now()}
}

func (h *heard) Read(p []byte) (int, error) {
	h.alarm.Reset(h.limit)
	n, err := h.ReadCloser.Read(p)
	h.alarm.Stop()
	if n > 0 {
		h.last = time.Now()
	}
	return n, err
}
