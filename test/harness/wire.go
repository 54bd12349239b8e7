package harness

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing/iotest"
	"time"

	"github.com/rejoin/rejoin/consumer"
)

// Conn is one answer of a relay, read as it stands on the wire: unlike a client's
// stream it never comes back, and shows the end of the response as io.EOF.
type Conn struct {
	Status int
	Header http.Header

	body io.Closer
	in   *bufio.Reader
	sse  *consumer.Decoder
	quit context.CancelFunc
}

// wireHTTP shares no connection between two requests: what is done to one of them
// is not done to another.
var wireHTTP = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}

// Ask sends one request. header holds names and values in turn. The answer's body
// has to be closed, or read to its end.
func Ask(ctx context.Context, method, url, body string, header ...string) (*Conn, error) {
	ctx, quit := context.WithTimeout(ctx, Patience)
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		quit()
		return nil, err
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := wireHTTP.Do(req)
	if err != nil {
		quit()
		return nil, err
	}
	in := bufio.NewReader(resp.Body)
	return &Conn{Status: resp.StatusCode, Header: resp.Header, body: resp.Body, in: in, sse: consumer.NewDecoder(in), quit: quit}, nil
}

// Close leaves, as a client does that goes away. It may be called twice.
func (c *Conn) Close() {
	c.quit()
	_ = c.body.Close()
}

// Message is the next SSE message, io.EOF where the response ends between two.
func (c *Conn) Message() (consumer.Message, error) { return c.sse.Next() }

// Next is the next frame. The context is not used: Close ends a call under way.
func (c *Conn) Next(context.Context) (consumer.Frame, error) {
	m, err := c.sse.Next()
	if err != nil {
		return consumer.Frame{}, err
	}
	f, err := consumer.ParseFrame(m.Data)
	if err != nil {
		return f, err
	}
	if id := fmt.Sprintf("%s:%d", f.RunID, f.Seq); m.ID != id || c.Header.Get("Rejoin-Run-Id") != string(f.RunID) {
		return f, fmt.Errorf("%v %s has id %q under the run %q", f.Type, id, m.ID, c.Header.Get("Rejoin-Run-Id"))
	}
	return f, nil
}

// Comments counts the keep-alives that came before the last message.
func (c *Conn) Comments() uint64 { return c.sse.Comments() }

// Retry is how long the relay asked its observer to stay away, 0 where it did not.
func (c *Conn) Retry() time.Duration { return c.sse.Retry() }

// Peek waits until n more bytes have arrived, up to 4 KiB, and leaves them to be read.
func (c *Conn) Peek(n int) ([]byte, error) { return c.in.Peek(n) }

// Rest reads what is left of the body, and closes it.
func (c *Conn) Rest() (string, error) {
	defer c.Close()
	b, err := io.ReadAll(c.in)
	return string(b), err
}

// Live is the body of POST /chat/live on protocol 1. more holds further fields and
// their values in turn.
func Live(chat string, more ...any) string {
	fields := map[string]any{"chat_id": chat, "protocol": 1}
	for i := 0; i < len(more); i += 2 {
		fields[more[i].(string)] = more[i+1]
	}
	b, err := json.Marshal(fields)
	if err != nil {
		panic(err) // a test's own strings and numbers
	}
	return string(b)
}

// ByteByByte is an HTTP client that gets every answer one byte at a time.
func ByteByByte() *http.Client { return &http.Client{Transport: oneByte{wireHTTP.Transport}} }

type oneByte struct{ http.RoundTripper }

func (o oneByte) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := o.RoundTripper.RoundTrip(req)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{iotest.OneByteReader(resp.Body), resp.Body}
	}
	return resp, err
}
