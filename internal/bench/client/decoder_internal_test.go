package client

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// told is what a Handler was told, in words. Pieces of a frame are joined again.
type told struct {
	words []string
	data  []byte
	open  bool
}

func (r *told) Frame(f *Frame, _ time.Time) {
	if f.First == r.open {
		r.words = append(r.words, "frames overlap")
	}
	if f.First {
		r.data = r.data[:0]
	}
	r.open = !f.Last
	r.data = append(r.data, f.Data...)
	if f.Last {
		r.words = append(r.words, fmt.Sprintf("%d %s %d %s", f.Type, f.Run, f.Seq, r.data))
	}
}

func (r *told) Answer(status int, body []byte, _ time.Time) {
	r.words = append(r.words, fmt.Sprintf("answer %d %s", status, body))
}

func (r *told) Closed(error) {}

// chunked cuts a text into chunks of given sizes, again and again.
func chunked(text string, sizes ...int) string {
	var b strings.Builder
	for i := 0; len(text) > 0; i++ {
		n := min(sizes[i%len(sizes)], len(text))
		fmt.Fprintf(&b, "%x\r\n%s\r\n", n, text[:n])
		text = text[n:]
	}
	return b.String() + "0\r\n\r\n"
}

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

var long = strings.Repeat("x", 3_000)

var stream = ":\n\n" +
	`id: r1:2` + "\n" + `data: {"type":"STREAM_SNAPSHOT","run_id":"r1","seq":2,"events":["` + long + `"]}` + "\n\n" +
	"retry: 500\n\n" +
	`id: r1:3` + "\n" + `data: {"type":"STREAM_EVENT","run_id":"r1","seq":3,"event":{}}` + "\n\n" +
	": keep\n\nid: r1:3\n" + `data: {"type":"STREAM_SYNCED","run_id":"r1","seq":3}` + "\n\n" +
	"data: plain\n\nevent: x\ndata: p\n\ndata: \n\n" +
	`id: r1:3` + "\n" + `data: {"type":"STREAM_END","run_id":"r1","seq":3}` + "\n\n"

var streamTold = []string{
	`1 r1 2 {"type":"STREAM_SNAPSHOT","run_id":"r1","seq":2,"events":["` + long + `"]}`,
	`2 r1 3 {"type":"STREAM_EVENT","run_id":"r1","seq":3,"event":{}}`,
	`3 r1 3 {"type":"STREAM_SYNCED","run_id":"r1","seq":3}`,
	"0 r1 3 plain", "0 r1 3 p", "0 r1 3 ",
	`4 r1 3 {"type":"STREAM_END","run_id":"r1","seq":3}`,
	"answer 200 ",
}

// Whatever the chunks and the reads, what is told is the same.
func TestAnswersAreTheSameHoweverTheyAreCut(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	for _, sizes := range [][]int{{1 << 20}, {1}, {7, 100, 1}, {1000}} {
		text := streamHead + chunked(stream, sizes...) +
			"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length: 5\r\n\r\nhello" +
			"HTTP/1.1 204 No Content\r\n\r\n" +
			"HTTP/1.1 409 Conflict\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nTrailer: x\r\n\r\n" +
			"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
		want := append(append([]string{}, streamTold...), "answer 201 hello", "answer 204 ", "answer 409 abc", "answer 200 ")
		for _, most := range []int{1, 3, 17, 1000, 1 << 20} {
			var r told
			var d decoder
			d.expect(&r)
			for rest := text; len(rest) > 0; {
				n := min(len(rest), 1+random.IntN(most))
				require.NoError(t, d.feed([]byte(rest[:n]), time.Time{}))
				rest = rest[n:]
			}
			require.Equal(t, want, r.words, "chunks of %v, reads of up to %d", sizes, most)
		}
	}
}

// A frame counts when its blank line is there and not before.
func TestAFrameWithoutItsBlankLineIsNotComplete(t *testing.T) {
	t.Parallel()
	var r told
	var d decoder
	d.expect(&r)
	text := "id: r:1\ndata: {\"type\":\"STREAM_EVENT\"}\n"
	require.NoError(t, d.feed([]byte(streamHead+fmt.Sprintf("%x\r\n%s\r\n", len(text), text)), time.Time{}))
	require.Empty(t, r.words)
	require.NoError(t, d.feed([]byte("1\r\n\n\r\n"), time.Time{}))
	require.Len(t, r.words, 1)
}

func TestWhatIsNotTheProtocolIsAnError(t *testing.T) {
	t.Parallel()
	body := func(s string) string { return streamHead + chunked(s, 1<<20) }
	for _, text := range []string{
		"hello, this is no HTTP\r\n\r\n",
		"HTTP/1.1 abc\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcde\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc\r\n",
		"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", longestHead),
		body("id: none\n\n"), body("id: r:x\n\n"), body("data: a\ndata: b\n\n"),
		body("id: r:1\r\n\r\n"), body(": " + strings.Repeat("x", 10_000)),
	} {
		var r told
		var d decoder
		d.expect(&r)
		require.ErrorIs(t, d.feed([]byte(text), time.Time{}), ErrProtocol, "%.60q", text)
	}
}

func TestDecodingAllocatesNothing(t *testing.T) {
	var d decoder
	var c count
	d.expect(&c)
	require.NoError(t, d.feed([]byte(streamHead), time.Time{}))
	text := "id: r1:3\ndata: {\"type\":\"STREAM_EVENT\",\"run_id\":\"r1\",\"seq\":3,\"event\":{}}\n\n"
	whole := []byte(fmt.Sprintf("%x\r\n%s\r\n", len(text), text))
	at := time.Now()
	require.NoError(t, d.feed(whole, at))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_ = d.feed(whole, at)
		_ = d.feed(whole[:5], at)
		_ = d.feed(whole[5:40], at)
		_ = d.feed(whole[40:], at)
	}))
	require.NotZero(t, c)
}

type count int

func (c *count) Frame(*Frame, time.Time)       { *c++ }
func (c *count) Answer(int, []byte, time.Time) {}
func (c *count) Closed(error)                  {}

func BenchmarkDecode(b *testing.B) {
	var d decoder
	var c count
	d.expect(&c)
	require.NoError(b, d.feed([]byte(streamHead), time.Time{}))
	text := "id: r1:3\ndata: {\"type\":\"STREAM_EVENT\",\"run_id\":\"r1\",\"seq\":3,\"event\":{\"" + long[:200] + "\"}}\n\n"
	whole := []byte(fmt.Sprintf("%x\r\n%s\r\n", len(text), text))
	at := time.Now()
	for b.Loop() {
		_ = d.feed(whole, at)
	}
}
