package ingest_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/ingest"
	"github.com/rejoin/rejoin/subjects"
)

// stream is an events request whose body stays open.
type stream struct {
	w      *io.PipeWriter
	answer chan answer
}

func (n *node) open(t testing.TB, path string, header ...string) *stream {
	t.Helper()
	return n.openOf(t, path, -1, header...)
}

// openOf opens a body that says how long it will be; -1 is one that does not.
func (n *node) openOf(t testing.TB, path string, length int64, header ...string) *stream {
	t.Helper()
	r, w := io.Pipe()
	s := &stream{w: w, answer: make(chan answer, 1)}
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(s.answer)
		req, err := http.NewRequestWithContext(within(t), http.MethodPost, n.server.URL+path+"/events", r)
		if err != nil {
			return
		}
		req.ContentLength = length
		for i := 0; i < len(header); i += 2 {
			req.Header.Add(header[i], header[i+1])
		}
		resp, err := n.client.Do(req)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		a := answer{status: resp.StatusCode, header: resp.Header, body: map[string]any{}}
		d := json.NewDecoder(resp.Body)
		d.UseNumber()
		_ = d.Decode(&a.body)
		s.answer <- a
	})
	t.Cleanup(func() {
		_ = w.CloseWithError(io.ErrClosedPipe)
		wg.Wait()
	})
	return s
}

func (s *stream) send(t testing.TB, text string) {
	t.Helper()
	_, err := io.WriteString(s.w, text)
	require.NoError(t, err)
}

func (s *stream) wait(t testing.TB) answer {
	t.Helper()
	select {
	case a, ok := <-s.answer:
		require.True(t, ok, "the request failed")
		return a
	case <-time.After(patience):
		t.Fatal("no answer")
		return answer{}
	}
}

// waitFor polls until the log holds so many events.
func (n *node) waitFor(t testing.TB, path string, count int) {
	t.Helper()
	require.Eventually(t, func() bool {
		got, _ := n.logged(t, path)
		return len(got) >= count
	}, patience, 2*time.Millisecond)
}

func (n *node) waitEnd(t testing.TB, path string) (end subjects.End) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, e := n.logged(t, path)
		if e != nil {
			end = *e
		}
		return e != nil
	}, patience, 5*time.Millisecond)
	return end
}

func TestAnOpenBodyIsPublishedLineByLine(t *testing.T) {
	t.Parallel()
	n := newNode(t, broker(t), ingest.Config{})
	path := n.start(t, "c")
	s := n.open(t, path)
	for i := 1; i <= 5; i++ {
		s.send(t, event(i)[:10])
		s.send(t, event(i)[10:]+"\n")
		n.waitFor(t, path, i)
	}
	s.send(t, event(6)) // the last line needs no line break
	require.NoError(t, s.w.Close())
	a := s.wait(t)
	require.Equal(t, 200, a.status, a.body)
	require.EqualValues(t, 6, a.seq("accepted"))
	require.EqualValues(t, 6, a.seq("last_seq"))
	n.wantEvents(t, path, 6)
}

func TestARefusedLineIsToldWhileTheBodyIsOpen(t *testing.T) {
	t.Parallel()
	n := newNode(t, broker(t), ingest.Config{MaxEventBytes: 1 << 20})
	path := n.start(t, "c")
	s := n.open(t, path)
	s.send(t, ndjson(1, 2)+"nonsense\n")
	a := s.wait(t)
	a.isProblem(t, http.StatusBadRequest, "bad_request")
	require.EqualValues(t, 3, a.seq("line"))
	n.wantEvents(t, path, 2)

	s = n.open(t, path)
	s.send(t, event(3)+"\n")
	go func() { _, _ = io.WriteString(s.w, `{"type":"`+strings.Repeat("x", 2<<20)) }() // never a line break
	a = s.wait(t)
	a.isProblem(t, http.StatusRequestEntityTooLarge, "too_large")
	require.EqualValues(t, 2, a.seq("line"))
	n.wantEvents(t, path, 3)
}

func TestABodyThatBreaksOffLosesItsLastLineOnly(t *testing.T) {
	t.Parallel()
	n := newNode(t, broker(t), ingest.Config{})
	path := n.start(t, "c")
	conn, err := net.Dial("tcp", strings.TrimPrefix(n.server.URL, "http://"))
	require.NoError(t, err)
	body := ndjson(1, 2) + event(3) // whole, but nothing says so
	_, err = fmt.Fprintf(conn, "POST %s/events HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", path, len(body), body)
	require.NoError(t, err)
	n.waitFor(t, path, 2)
	require.NoError(t, conn.Close())

	a := n.post(t, path+"/events", ndjson(1, 4), ingest.FirstSeqHeader, "1")
	require.Equal(t, 200, a.status, a.body)
	require.EqualValues(t, 2, a.seq("accepted"), "the retry is exact")
	require.EqualValues(t, 4, a.seq("last_seq"))
	n.wantEvents(t, path, 4)
}

// An answer lost on its way: the producer repeats the whole body, again and again, in
// parts and at once.
func TestDUP04ARepeatedBodyIsStoredOnce(t *testing.T) {
	t.Parallel()
	n := newNode(t, broker(t), ingest.Config{})
	path := n.start(t, "c")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for from := 1; from <= 200; from += 20 {
				body := ndjson(from, from+39) // each overlaps the next
				for {
					a := n.post(t, path+"/events", body, ingest.FirstSeqHeader, fmt.Sprint(from))
					if a.status == 200 {
						break
					}
					a.isProblem(t, http.StatusConflict, "seq_gap")
				}
			}
		})
	}
	wg.Wait()
	n.wantEvents(t, path, 220)
	a := n.post(t, path+"/events", ndjson(1, 220), ingest.FirstSeqHeader, "1")
	require.EqualValues(t, 0, a.seq("accepted"))
	require.EqualValues(t, 220, a.seq("last_seq"))
	a = n.post(t, path+"/events", ndjson(222, 222), ingest.FirstSeqHeader, "222")
	a.isProblem(t, http.StatusConflict, "seq_gap")
	require.EqualValues(t, 221, a.seq("expected_seq"))
}

// A connection is fit for use again after every answer.
func TestConnectionsStayUsable(t *testing.T) {
	t.Parallel()
	n := newNode(t, broker(t), ingest.Config{})
	path := n.start(t, "c")
	conn, err := net.Dial("tcp", strings.TrimPrefix(n.server.URL, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	in := bufio.NewReader(conn)
	for i, tc := range []struct {
		request, head, body string
		status              int
	}{
		{"/events", "Content-Length: 9", "nonsense\n", 400},
		{"/heartbeat", "Content-Length: 4", "body", 204},
		{"/heartbeat", "Transfer-Encoding: chunked", "4\r\nbody\r\n0\r\n\r\n", 204},
		{"/events", "Transfer-Encoding: chunked", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(event(1)), event(1)), 200},
		{"/nothing", "Content-Length: 0", "", 404},
		{"/end", "Transfer-Encoding: chunked", "2\r\n{}\r\n0\r\n\r\n", 200},
		{"/events", "Content-Length: 9", "nonsense\n", 409},
	} {
		_, err := fmt.Fprintf(conn, "POST %s%s HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n%s", path, tc.request, tc.head, tc.body)
		require.NoError(t, err)
		resp, err := http.ReadResponse(in, nil)
		require.NoError(t, err, i)
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, tc.status, resp.StatusCode, i)
	}
}

func TestLargeEvents(t *testing.T) {
	t.Parallel()
	n := newNode(t, broker(t), ingest.Config{})
	path := n.start(t, "c")
	sized := func(size int) string {
		return `{"type":"CUSTOM","value":"` + strings.Repeat("x", size-len(`{"type":"CUSTOM","value":""}`)) + `"}`
	}
	a := n.post(t, path+"/events", event(1)+"\n"+sized(16<<20)+"\n"+event(3))
	require.Equal(t, 200, a.status, a.body)
	require.EqualValues(t, 3, a.seq("last_seq"))
	for _, body := range []io.Reader{ // with a length, and without
		strings.NewReader(event(4) + "\n" + sized(16<<20+1) + "\n" + event(5)),
		io.MultiReader(strings.NewReader(event(5)+"\n"), strings.NewReader(sized(16<<20+1)), strings.NewReader("\n"+event(6))),
	} {
		a = n.postBody(t, path+"/events", body)
		a.isProblem(t, http.StatusRequestEntityTooLarge, "too_large")
		require.EqualValues(t, 2, a.seq("line"))
		require.Contains(t, a.body["detail"], "16777216")
	}
	a = n.post(t, path+"/events", event(6))
	require.Equal(t, 200, a.status, a.body)
	require.EqualValues(t, 6, a.seq("last_seq"), "nothing of what was too large is stored")
}
