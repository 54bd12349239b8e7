package relay_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/agui"
)

// answer is one whole response.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) problem(t testing.TB) (p struct {
	Type, Title, Code, Detail string
	Status                    int
}) {
	t.Helper()
	require.Equal(t, "application/problem+json", a.header.Get("Content-Type"), a.body)
	require.NoError(t, json.Unmarshal([]byte(a.body), &p), a.body)
	require.Equal(t, a.status, p.Status)
	require.NotEmpty(t, p.Title)
	return p
}

func (f *fabric) do(method, path, body string, header ...string) answer {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	resp, err := f.client.Do(request(ctx, f.t, method, f.url+path, body, header...))
	require.NoError(f.t, err)
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	require.NoError(f.t, err)
	return answer{resp.StatusCode, resp.Header, string(all)}
}

func request(ctx context.Context, t testing.TB, method, url, body string, header ...string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	return req
}

// observer is an open stream, read as a client reads it.
type observer struct {
	t      testing.TB
	resp   *http.Response
	cancel context.CancelFunc
	sse    *consumer.Decoder

	seq       uint64
	text      string
	snapshots int
	end       *consumer.Frame
}

// live opens POST /chat/live and wants 200.
func (f *fabric) live(body string) *observer {
	f.t.Helper()
	return f.open(http.MethodPost, "/chat/live", body)
}

func (f *fabric) open(method, path, body string, header ...string) *observer {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	resp, err := f.client.Do(request(ctx, f.t, method, f.url+path, body, header...))
	if err != nil {
		cancel()
	}
	require.NoError(f.t, err)
	o := &observer{t: f.t, resp: resp, cancel: cancel, sse: consumer.NewDecoder(resp.Body)}
	f.t.Cleanup(o.close)
	require.Equal(f.t, http.StatusOK, resp.StatusCode)
	return o
}

// close leaves, as a client does that goes away.
func (o *observer) close() {
	o.cancel()
	o.resp.Body.Close()
}

// next is the next frame.
func (o *observer) next() consumer.Frame {
	o.t.Helper()
	m, err := o.sse.Next()
	require.NoError(o.t, err)
	return o.take(m.Data)
}

// take applies a frame as it came.
func (o *observer) take(data []byte) consumer.Frame {
	o.t.Helper()
	f, err := consumer.ParseFrame(data)
	require.NoError(o.t, err, "%s", data)
	require.Equal(o.t, string(f.RunID), o.resp.Header.Get("Rejoin-Run-Id"))
	o.apply(f)
	return f
}

func (o *observer) apply(f consumer.Frame) {
	o.t.Helper()
	require.Nil(o.t, o.end, "a frame after the end: %v", f.Type)
	switch f.Type {
	case consumer.Snapshot:
		o.snapshots++
		o.seq, o.text = f.Seq, ""
		for line := range agui.Lines(f.Events) {
			o.add(line)
		}
	case consumer.Event:
		require.Equal(o.t, o.seq+1, f.Seq)
		o.seq = f.Seq
		o.add(f.Event)
	case consumer.End:
		require.Equal(o.t, o.seq, f.Seq)
		o.end = &f
	}
}

func (o *observer) add(raw []byte) {
	o.t.Helper()
	var e agui.Event
	require.NoError(o.t, agui.Scan(raw, &e))
	o.text += string(e.Delta())
}

// until reads until the observer has seq.
func (o *observer) until(seq uint64) {
	o.t.Helper()
	for o.seq < seq {
		o.next()
	}
}

// toEnd reads to the run's end and wants the response to close behind it.
func (o *observer) toEnd() {
	o.t.Helper()
	for o.end == nil {
		o.next()
	}
	o.closed()
}

// closed wants the response to end here, between frames.
func (o *observer) closed() {
	o.t.Helper()
	_, err := o.sse.Next()
	require.ErrorIs(o.t, err, io.EOF)
	require.False(o.t, errors.Is(err, io.ErrUnexpectedEOF))
}
