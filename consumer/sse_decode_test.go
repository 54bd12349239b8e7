package consumer_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
)

// decoded is everything a decoder makes of a stream.
type decoded struct {
	messages []message
	errs     []string // the errors met, the last one final
	comments uint64
	retry    time.Duration
}

type message struct{ id, event, data string }

func decode(r io.Reader, limit int) decoded {
	d := consumer.NewDecoder(r)
	d.Limit = limit
	var out decoded
	for {
		m, err := d.Next()
		if err != nil {
			out.errs = append(out.errs, err.Error())
			if errors.Is(err, consumer.ErrTooLarge) {
				continue
			}
			out.comments, out.retry = d.Comments(), d.Retry()
			return out
		}
		out.messages = append(out.messages, message{m.ID, m.Event, string(m.Data)})
	}
}

// chunks reads s in pieces of the given sizes, over and over.
func chunks(s string, sizes ...int) io.Reader {
	var rs []io.Reader
	for i := 0; len(s) > 0; i++ {
		n := min(len(s), max(1, sizes[i%len(sizes)]))
		rs = append(rs, strings.NewReader(s[:n]))
		s = s[n:]
	}
	return io.MultiReader(rs...)
}

func TestDecoderReadsWhatTheSpecificationSays(t *testing.T) {
	t.Parallel()
	eof, cut := "EOF", "unexpected EOF"
	for name, c := range map[string]struct {
		in   string
		want []message
		end  string
	}{
		"one message":              {"data: a\n\n", []message{{data: "a"}}, eof},
		"no space":                 {"data:a\n\n", []message{{data: "a"}}, eof},
		"two spaces":               {"data:  a\n\n", []message{{data: " a"}}, eof},
		"many data lines":          {"data: a\ndata\ndata: b\n\n", []message{{data: "a\n\nb"}}, eof},
		"CRLF":                     {"id: 1\r\ndata: a\r\n\r\ndata: b\r\n\r\n", []message{{id: "1", data: "a"}, {id: "1", data: "b"}}, eof},
		"CR":                       {"data: a\r\rdata: b\r\r", []message{{data: "a"}, {data: "b"}}, eof},
		"mixed":                    {"data: a\r\n\rdata: b\n\r\n", []message{{data: "a"}, {data: "b"}}, eof},
		"id stays, event does not": {"id: 1\nevent: x\ndata: a\n\ndata: b\n\n", []message{{"1", "x", "a"}, {"1", "", "b"}}, eof},
		"id with NUL":              {"id: 1\ndata: a\n\nid: 2\x00\ndata: b\n\n", []message{{id: "1", data: "a"}, {id: "1", data: "b"}}, eof},
		"empty id":                 {"id: 1\ndata: a\n\nid\ndata: b\n\n", []message{{id: "1", data: "a"}, {data: "b"}}, eof},
		"empty data":               {"data:\n\n", []message{{}}, eof},
		"no data":                  {"event: x\n\nid: 9\n\ndata: a\n\n", []message{{id: "9", data: "a"}}, eof},
		"comments":                 {":\n: x\n\n:data: y\n\ndata: a\n:z\ndata: b\n\n", []message{{data: "a\nb"}}, eof},
		"unknown fields":           {"foo: 1\nDATA: x\n data: y\ndata: a\n\n", []message{{data: "a"}}, eof},
		"BOM":                      {"\ufeffdata: a\n\n", []message{{data: "a"}}, eof},
		"BOM once":                 {"\ufeff\ufeffdata: a\n\n\ufeffdata: b\n\ndata: c\n\n", []message{{data: "c"}}, eof},
		"BOM alone on a line":      {"\ufeff\ndata: a\n\n", []message{{data: "a"}}, eof},
		"U+2028 is no line end":    {"data: a\u2028b\u2029c\u0085d\u000b\n\n", []message{{data: "a\u2028b\u2029c\u0085d\u000b"}}, eof},
		"bad UTF-8 stays":          {"data: \xff\xfe\n\n", []message{{data: "\xff\xfe"}}, eof},
		"empty":                    {"", nil, eof},
		"no blank line":            {"data: a\n\ndata: b\n", []message{{data: "a"}}, cut},
		"half a line":              {"data: a\n\nda", []message{{data: "a"}}, cut},
		"half a blank line":        {"data: a\r", nil, cut},
		"id alone":                 {"id: 1\n", nil, cut},
		"comment at the end":       {"data: a\n\n: bye\n", []message{{data: "a"}}, eof},
		"retry at the end":         {"data: a\n\nretry: 5\n", []message{{data: "a"}}, eof},
	} {
		for how, r := range map[string]io.Reader{
			"whole":       strings.NewReader(c.in),
			"bytes":       iotest.OneByteReader(strings.NewReader(c.in)),
			"data + EOF":  iotest.DataErrReader(strings.NewReader(c.in)),
			"odd chunks":  chunks(c.in, 3, 1, 2),
			"with pauses": &lazy{r: chunks(c.in, 2, 1)},
		} {
			got := decode(r, 0)
			require.Equal(t, c.want, got.messages, "%s, %s", name, how)
			require.Equal(t, []string{c.end}, got.errs, "%s, %s", name, how)
		}
	}
}

// lazy gives nothing on every other read.
type lazy struct {
	r    io.Reader
	turn bool
}

func (l *lazy) Read(p []byte) (int, error) {
	if l.turn = !l.turn; l.turn {
		return 0, nil
	}
	return l.r.Read(p)
}

func TestDecoderHearsCommentsAndRetry(t *testing.T) {
	t.Parallel()
	got := decode(strings.NewReader(":\n\n: a\n\nretry: 1500\n\nretry: x\nretry: -1\nretry: 99999999999999999999\n\n"), 0)
	require.Empty(t, got.messages)
	require.EqualValues(t, 2, got.comments)
	require.Equal(t, 1500*time.Millisecond, got.retry)
}

func TestDecoderEndsALineWithoutWaitingForMore(t *testing.T) {
	t.Parallel()
	for _, br := range []string{"\n", "\r", "\r\n"} {
		r, w := io.Pipe()
		d := consumer.NewDecoder(r)
		go io.WriteString(w, "data: a"+br+br)
		m, err := d.Next()
		require.NoError(t, err)
		require.Equal(t, "a", string(m.Data))
		go func() {
			io.WriteString(w, "data: b"+br+br)
			w.Close()
		}()
		m, err = d.Next()
		require.NoError(t, err)
		require.Equal(t, "b", string(m.Data))
		_, err = d.Next()
		require.ErrorIs(t, err, io.EOF)
	}
}

func TestDecoderGivesTheReadersError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	d := consumer.NewDecoder(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)))
	_, err := d.Next()
	require.NoError(t, err)
	for range 2 {
		_, err = d.Next()
		require.ErrorIs(t, err, broken)
	}
	_, err = consumer.NewDecoder(silent{}).Next()
	require.ErrorIs(t, err, io.ErrNoProgress)
}

type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

func TestBIG03_LinesOfAnyLength(t *testing.T) {
	t.Parallel()
	small := `{"type":"RAW"}`
	for _, size := range []int{63 << 10, 64 << 10, 65 << 10, 1 << 20, 10<<20 + 1} {
		big := `{"delta":"` + strings.Repeat("x", size) + `"}`
		frames := []consumer.Frame{
			{Type: consumer.Event, RunID: runA, Seq: 1, Event: []byte(big)},
			{Type: consumer.Snapshot, RunID: runA, Seq: 2, Events: []byte(small + "\n" + big)},
			{Type: consumer.End, RunID: runA, Seq: 2},
		}
		decodeFrames(t, frames, func(body []byte) io.Reader { return bytes.NewReader(body) })
		if size <= 1<<20 { // twenty million reads of one byte would show nothing that three do not
			decodeFrames(t, frames, func(body []byte) io.Reader { return iotest.OneByteReader(bytes.NewReader(body)) })
		}
	}
}

func decodeFrames(t *testing.T, frames []consumer.Frame, feed func([]byte) io.Reader) {
	t.Helper()
	var body []byte
	for _, f := range frames {
		body = f.AppendSSE(body)
	}
	d := consumer.NewDecoder(feed(body))
	for _, want := range frames {
		m, err := d.Next()
		require.NoError(t, err)
		got, err := consumer.ParseFrame(m.Data)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want.Event, got.Event) && bytes.Equal(want.Events, got.Events))
	}
	_, err := d.Next()
	require.ErrorIs(t, err, io.EOF)
}

func TestBIG03_TooLargeIsAnErrorAndNotAnEnd(t *testing.T) {
	t.Parallel()
	const limit = 100
	long := strings.Repeat("x", limit)
	in := "data: a\n\n" +
		"data: " + long + "\n\n" + // one line too long
		"data: b\n\n" +
		"data: " + long[:60] + "\ndata: " + long[:60] + "\nid: 7\n\n" + // two lines too long together
		"data: c\n\n"
	want := decoded{
		messages: []message{{data: "a"}, {data: "b"}, {data: "c"}},
		errs:     []string{"message too large: above 100 bytes", "message too large: above 100 bytes", "EOF"},
	}
	require.Equal(t, want, decode(strings.NewReader(in), limit))
	require.Equal(t, want, decode(iotest.OneByteReader(strings.NewReader(in)), limit))

	got := decode(strings.NewReader("data: "+long+long), limit)
	require.Equal(t, []string{"message too large: above 100 bytes", "unexpected EOF"}, got.errs)
}

func TestUNI02_CharactersSplitBetweenReads(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("水é😀\u2028", 6_000)
	in := "\ufeffdata: " + text + "\n\n"
	for _, sizes := range [][]int{{1}, {7}, {2, 1}, {65536}, {1 << 30}} {
		got := decode(chunks(in, sizes...), 0)
		require.Len(t, got.messages, 1, sizes)
		require.True(t, got.messages[0].data == text, sizes)
	}
}

func TestUNI03_ACRLFSplitBetweenReadsIsOneLineEnd(t *testing.T) {
	t.Parallel()
	in := "data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n"
	want := []message{{data: "a\nb"}, {data: "c"}}
	for cut := range len(in) {
		got := decode(io.MultiReader(strings.NewReader(in[:cut]), strings.NewReader(in[cut:])), 0)
		require.Equal(t, want, got.messages, cut)
	}
}

func FuzzDecoder(f *testing.F) {
	for _, s := range []string{
		"\ufeffid: r:1\r\ndata: {\"a\":1}\r\n\r\n", ":\n\nretry: 10\n\ndata: a\rdata: b\r\r", "event: x\ndata\n\n",
		"data: " + strings.Repeat("x", 200) + "\n\ndata: b\n\n", "id: 1\x00\ndata:  y\n", "\xef\xbb", "\xef\xbb\xbf\n", "\r\n\r",
	} {
		f.Add([]byte(s), uint8(3), uint8(1), uint8(120))
	}
	f.Fuzz(func(t *testing.T, in []byte, a, b, limit uint8) {
		want := decode(bytes.NewReader(in), int(limit))
		require.Equal(t, want, decode(iotest.OneByteReader(bytes.NewReader(in)), int(limit)))
		require.Equal(t, want, decode(iotest.DataErrReader(chunks(string(in), int(a), int(b))), int(limit)))
	})
}
