package relay_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/relay"
)

// behind serves the relay behind a middleware, without its own Serve.
func (f *fabric) behind(middleware func(http.Handler) http.Handler) {
	f.t.Helper()
	server := httptest.NewServer(middleware(f.relay.Handler()))
	f.t.Cleanup(server.Close)
	f.url, f.client = server.URL, server.Client()
}

// hidden is a writer that lacks Flush but can be unwrapped.
type hidden struct{ w http.ResponseWriter }

func (h hidden) Header() http.Header         { return h.w.Header() }
func (h hidden) Write(b []byte) (int, error) { return h.w.Write(b) }
func (h hidden) WriteHeader(status int)      { h.w.WriteHeader(status) }

type unwrapping struct{ hidden }

func (u unwrapping) Unwrap() http.ResponseWriter { return u.w }

// oneByOne wants every event on the wire before the next one is published.
func (f *fabric) oneByOne(o *observer, r *run) {
	f.t.Helper()
	for range 20 {
		r.deltas(1)
		o.until(r.seq)
	}
	r.finish(done)
	o.toEnd()
	require.Equal(f.t, text(20), o.text)
}

func TestPROXY01_WriterThatOnlyUnwraps(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	f.behind(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(unwrapping{hidden{w}}, r)
		})
	})
	r := f.start("c")
	f.oneByOne(f.live(`{"chat_id":"c","protocol":1}`), r)
}

func TestPROXY01_WriterThatCannotFlush(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	f.behind(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(hidden{w}, r)
		})
	})
	f.start("c").deltas(1)
	a := f.do(http.MethodPost, "/chat/live", `{"chat_id":"c","protocol":1}`)
	require.Equal(t, http.StatusInternalServerError, a.status)
	require.Contains(t, a.problem(t).Detail, "flush")
	require.Equal(t, http.StatusOK, f.do(http.MethodGet, "/readyz", "").status)
}

// zipped is what compressing middleware makes of a writer.
type zipped struct {
	http.ResponseWriter
	zip *gzip.Writer
}

func (z zipped) Write(b []byte) (int, error) { return z.zip.Write(b) }
func (z zipped) FlushError() error {
	if err := z.zip.Flush(); err != nil {
		return err
	}
	return http.NewResponseController(z.ResponseWriter).Flush()
}
func (z zipped) Unwrap() http.ResponseWriter { return z.ResponseWriter }

func compressing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			next.ServeHTTP(w, r)
			return
		}
		zip := gzip.NewWriter(w)
		defer zip.Close()
		w.Header().Set("Content-Encoding", "gzip")
		next.ServeHTTP(zipped{w, zip}, r)
	})
}

// An observer that has stalled is cut off through such middleware too.
func TestPROXY01_StalledBehindCompression(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *relay.Config) { c.WriteTimeout = time.Second })
	f.behind(compressing)
	f.client.Transport.(*http.Transport).DisableCompression = true // of the numbers, which would be compressed twice
	r := f.start("c")
	for range 50 { // what does not shrink
		noise := make([]byte, 150<<10)
		_, _ = rand.Read(noise)
		r.publish(fmt.Sprintf(`{"type":"CUSTOM","name":"big","value":%q}`, base64.StdEncoding.EncodeToString(noise)))
	}
	f.stall("c", "Accept-Encoding: gzip\r\n")
	f.eventually(`rejoin_streams_closed_total{cause="stalled"}`, 1)
	f.watching(0)
}

func TestPROXY01_CompressedStream(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *relay.Config) { c.WriteTimeout = time.Second })
	f.behind(compressing)
	r := f.start("c")
	o := f.open(http.MethodPost, "/chat/live", `{"chat_id":"c","protocol":1}`, "Accept-Encoding", "gzip")
	require.Equal(t, "gzip", o.resp.Header.Get("Content-Encoding"))
	body, err := gzip.NewReader(o.resp.Body)
	require.NoError(t, err)
	o.sse = consumer.NewDecoder(body)
	f.oneByOne(o, r)
}

// An HTTP/1.0 proxy gets neither chunks nor a connection that stays, and works.
func TestPROXY01_HTTP10(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	r := f.start("c")
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(f.url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprint(conn, "GET /chat/live?chat_id=c HTTP/1.0\r\n\r\n")
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Empty(t, resp.TransferEncoding)
	f.oneByOne(&observer{t: t, resp: resp, sse: consumer.NewDecoder(resp.Body)}, r)
}

func TestPanicsAreAnsweredOrBreakTheConnection(t *testing.T) {
	t.Parallel()
	begin := make(chan bool, 1)
	f := newFabric(t, func(c *relay.Config) {
		c.Producer = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if <-begin {
				w.WriteHeader(http.StatusOK)
				_, _ = w.Write([]byte("half an ans"))
				_ = http.NewResponseController(w).Flush()
			}
			panic("a \x1b[31mfault")
		})
	})
	begin <- false
	a := f.do(http.MethodPost, "/runs", "")
	require.Equal(t, http.StatusInternalServerError, a.status)
	require.NotContains(t, a.problem(t).Detail, "fault\x1b")
	begin <- true
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	resp, err := f.client.Do(request(ctx, t, http.MethodPost, f.url+"/runs/x/end", ""))
	require.NoError(t, err)
	defer resp.Body.Close()
	buf := make([]byte, 64)
	for err == nil {
		_, err = resp.Body.Read(buf)
	}
	require.ErrorContains(t, err, "unexpected EOF", "half an answer must not look whole")
	f.eventually("rejoin_http_panics_total", 2)
	require.NotContains(t, f.logs.String(), "\x1b")
}
