package rpc_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/acp/rpc"
)

// read runs a peer over what an agent has written and gives what was taken of it.
func read(t testing.TB, r io.Reader, cfg rpc.Config) (got []string, p *rpc.Peer, err error) {
	t.Helper()
	l := &log{}
	cfg.Handler = l
	p = rpc.New(io.NopCloser(r), discard{}, cfg)
	err = p.Run()
	return l.all(), p, err
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) Close() error                { return nil }

func note(n int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","method":"n","params":%d}`, n) }

func TestACP02_JunkIsSkippedAndCounted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string
		junk int64
	}{
		"banner":                 {"Welcome!\n" + note(1) + "\n", []string{"n 1"}, 1},
		"blank lines":            {"\n\n \t\r\n" + note(1) + "\n\n", []string{"n 1"}, 4},
		"CRLF":                   {note(1) + "\r\n" + note(2) + "\r\n", []string{"n 1", "n 2"}, 0},
		"byte order mark":        {"\xef\xbb\xbf" + note(1) + "\n", []string{"n 1"}, 0},
		"colours around":         {"\x1b[2J\x1b[1;31m " + note(1) + "\x1b[0m\n", []string{"n 1"}, 0},
		"only colours":           {"\x1b[31m\n\x1b[\n\x1b\n" + note(1) + "\n", []string{"n 1"}, 3},
		"two on a line":          {note(1) + note(2) + "\n" + note(3) + " \t" + note(4) + "\n", []string{"n 1", "n 2", "n 3", "n 4"}, 0},
		"something after":        {note(1) + " done " + note(2) + "\n" + note(3) + "\n", []string{"n 1", "n 3"}, 1},
		"one on three lines":     {"{\"jsonrpc\":\"2.0\",\n\"method\":\"n\",\n\"params\":{}}\n" + note(1) + "\n", []string{"n 1"}, 3},
		"half a line":            {`{"jsonrpc":"2.0","method":"n","par` + "\n" + note(1) + "\n", []string{"n 1"}, 1},
		"half a line, then one":  {`{"jsonrpc":"2.0","met` + note(1) + "\n" + note(2) + "\n", []string{"n 2"}, 1},
		"no line break at last":  {note(1) + "\n" + note(2), []string{"n 1", "n 2"}, 0},
		"other JSON":             {"1\n\"x\"\nnull\n[" + note(9) + "]\n{}\n{\"level\":\"info\"}\n{\"jsonrpc\":\"1.0\",\"method\":\"n\"}\n" + note(1) + "\n", []string{"n 1"}, 7},
		"other JSON on the line": {`{"level":"info"}` + note(1) + "\n", []string{"n 1"}, 1},
		"wrong types":            {`{"jsonrpc":"2.0","method":7}` + "\n" + `{"jsonrpc":2,"method":"n"}` + "\n" + note(1) + "\n", []string{"n 1"}, 2},
		"invalid UTF-8":          {"{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":\"a\xffb\"}\n", []string{"n \"a\uFFFDb\""}, 0},
		"NUL":                    {"\x00\x00\n" + note(1) + "\n", []string{"n 1"}, 1},
		"an echo in a log":       {"DEBUG <- " + note(1) + "\n", nil, 1},
		"deep nesting":           {`{"jsonrpc":"2.0","method":"n","params":` + strings.Repeat("[", 20_000) + "\n" + note(1) + "\n", []string{"n 1"}, 1},
		"unknown responses":      {`{"jsonrpc":"2.0","id":99,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":"x","error":{}}` + "\n" + `{"jsonrpc":"2.0","id":null,"result":1}` + "\n" + note(1) + "\n", []string{"n 1"}, 0},
		"unknown methods":        {`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}` + "\n" + `{"jsonrpc":"2.0","id":1,"method":"zzz"}` + "\n", []string{`$/cancel_request {"requestId":1}`, "zzz? "}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, r := range []io.Reader{strings.NewReader(c.text), iotest.OneByteReader(strings.NewReader(c.text)), iotest.DataErrReader(strings.NewReader(c.text))} {
				got, p, err := read(t, r, rpc.Config{})
				require.ErrorIs(t, err, rpc.ErrEnded)
				if c.want == nil {
					c.want = []string{}
				}
				require.Equal(t, c.want, got)
				require.Equal(t, c.junk, p.Junk())
			}
		})
	}
}

func TestACP02_ALongLegalLineIsTaken(t *testing.T) {
	t.Parallel()
	for _, size := range []int{readSize - 45, readSize - 44, readSize - 43, readSize, 9 << 20} {
		text := strings.Repeat("x", size)
		got, p, err := read(t, strings.NewReader(`{"jsonrpc":"2.0","method":"n","params":"`+text+`"}`+"\n"+note(1)+"\n"), rpc.Config{})
		require.ErrorIs(t, err, rpc.ErrEnded)
		require.Len(t, got, 2)
		require.Len(t, got[0], size+4)
		require.Equal(t, "n 1", got[1])
		require.Zero(t, p.Junk())
	}
}

const readSize = 64 << 10

func TestALineIsAsLongAsAllowedAndNoLonger(t *testing.T) {
	t.Parallel()
	line := note(1)
	got, _, err := read(t, strings.NewReader(line+"\n"), rpc.Config{MaxLine: len(line)})
	require.ErrorIs(t, err, rpc.ErrEnded)
	require.Equal(t, []string{"n 1"}, got)
	got, _, err = read(t, strings.NewReader(line+"\n"), rpc.Config{MaxLine: len(line) - 1})
	require.ErrorIs(t, err, rpc.ErrLineTooLong)
	require.Empty(t, got)
}

func TestACP02_AFloodWithoutALineBreakEndsThePeerInBoundedMemory(t *testing.T) {
	// Not parallel: it looks at the memory of the whole process.
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	_, _, err := read(t, io.MultiReader(strings.NewReader(note(1)+"\n"), io.LimitReader(zeros{}, 500<<20)), rpc.Config{MaxLine: 1 << 20})
	require.ErrorIs(t, err, rpc.ErrLineTooLong)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20))
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = '0'
	}
	return len(b), nil
}

// However the bytes arrive, the same is taken of them, and every line is either
// taken or counted.
func FuzzReading(f *testing.F) {
	f.Add([]byte(note(1) + "\n"))
	f.Add([]byte("\xef\xbb\xbf\x1b[0m" + note(1) + note(2) + "\r\n{\n"))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"r"}{"jsonrpc":"2.0","id":1,"result":{}} x` + "\n\n"))
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":\"\xff\"}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		whole, p, err := read(t, bytes.NewReader(text), rpc.Config{MaxLine: 1 << 10})
		bytewise, q, err2 := read(t, iotest.OneByteReader(bytes.NewReader(text)), rpc.Config{MaxLine: 1 << 10})
		require.Equal(t, whole, bytewise)
		require.Equal(t, p.Junk(), q.Junk())
		require.Equal(t, err.Error(), err2.Error())
		require.LessOrEqual(t, p.Junk(), int64(bytes.Count(text, []byte("\n"))+1))
	})
}
