package edge_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/test/harness"
)

// watched is an open stream that tells of every comment as it arrives.
type watched struct {
	*consumer.Decoder
	resp  *http.Response
	fills chan struct{}
}

// watch opens a stream with a client of the test's own.
func watch(t *testing.T, client *http.Client, method, url, body string, header ...string) *watched {
	t.Helper()
	resp := ask(t, client, method, url, body, header...)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	w := &watched{resp: resp, fills: make(chan struct{}, 1<<10)}
	w.Decoder = consumer.NewDecoder(w)
	return w
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.resp.Body.Read(p)
	if n > 0 && p[0] == ':' {
		select {
		case w.fills <- struct{}{}:
		default:
		}
	}
	return n, err
}

// Next is the next frame.
func (w *watched) Next(context.Context) (consumer.Frame, error) {
	m, err := w.Decoder.Next()
	if err != nil {
		return consumer.Frame{}, err
	}
	return consumer.ParseFrame(m.Data)
}

// silence waits until n comments have come in all, the first of which is the first thing
// that a relay sends. Somebody has to be reading.
func (w *watched) silence(t *testing.T, n int) {
	t.Helper()
	for range n {
		select {
		case <-w.fills:
		case <-time.After(harness.Patience):
			require.FailNow(t, "the stream is silent")
		}
	}
}

// ask sends a request whose answer is closed with the test.
func ask(t *testing.T, client *http.Client, method, url, body string, header ...string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	resp, err := client.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// browser is a client of the test's own. It asks for gzip, and undoes it as it arrives.
func browser(t *testing.T) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// all is what is left of an answer's body.
func all(t *testing.T, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(b)
}
