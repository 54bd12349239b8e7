package ingest_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/subjects"
)

// brokerEnv makes this test binary a broker, so that a benchmark's own process has only
// what it measures.
const brokerEnv = "REJOIN_TEST_BROKER"

// serveBroker is that broker, for as long as its standard input is open.
func serveBroker() {
	s, err := natsd.Start(natsd.Config{Listen: "127.0.0.1:0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Shutdown()
	fmt.Println(s.ClientURL())
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// apart is a broker in a process of its own. It gives its URL.
func apart(b *testing.B) string {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^$") //nolint:gosec,noctx // this very program
	cmd.Env = append(os.Environ(), brokerEnv+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(b, err)
	return strings.TrimSpace(url)
}

// lightEvent is the ith event of a run, of 200 bytes.
func lightEvent(i int) []byte {
	head := fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"msg_01J9ZK3W8Q5V7T2R4M6N8P0S1A","delta":"~%d~`, i)
	return append(append([]byte(head), bytes.Repeat([]byte{'x'}, 200-len(head)-2)...), `"}`...)
}

// lightLines are n events, one a line.
func lightLines(n int) []byte {
	var b []byte
	for i := range n {
		b = append(append(b, lightEvent(i)...), '\n')
	}
	return b
}

// light is a client that costs next to nothing: one connection, and requests that are
// made beforehand.
type light struct {
	conn net.Conn
	in   *bufio.Reader
}

func dialLight(b testing.TB, addr string) *light {
	b.Helper()
	conn, err := net.Dial("tcp", addr) //nolint:noctx // a benchmark
	require.NoError(b, err)
	b.Cleanup(func() { _ = conn.Close() })
	return &light{conn: conn, in: bufio.NewReaderSize(conn, 4096)}
}

// request is a whole request of a body.
func request(path string, body []byte) []byte {
	return append(fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", path, len(body)), body...)
}

// chunk is a piece of a body that is streamed.
func chunk(body []byte) []byte {
	return append(append(fmt.Appendf(nil, "%x\r\n", len(body)), body...), "\r\n"...)
}

// open begins a streamed body.
func (l *light) open(path string) error {
	_, err := fmt.Fprintf(l.conn, "POST %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", path)
	return err
}

// end ends it and waits for the answer.
func (l *light) end() error { return l.do([]byte("0\r\n\r\n")) }

// do sends a request and waits for its answer, which has to be 200.
func (l *light) do(request []byte) error {
	if _, err := l.conn.Write(request); err != nil {
		return err
	}
	length, ok := 0, false
	for {
		line, err := l.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) <= 2 {
			break
		}
		if bytes.HasPrefix(line, []byte("HTTP/1.1 200")) {
			ok = true
		}
		if v, is := bytes.CutPrefix(line, []byte("Content-Length: ")); is {
			length, _ = strconv.Atoi(string(bytes.TrimSpace(v)))
		}
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(l.in, body); err != nil || !ok {
		return fmt.Errorf("answer %q: %w", body, err)
	}
	return nil
}

// cpu is what this process has used so far.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// asyncRate is how many such events a second the broker's own client stores, without a
// fence, an order or a check.
func asyncRate(b *testing.B, nc *nats.Conn) float64 {
	b.Helper()
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(200))
	require.NoError(b, err)
	subject, event := subjects.RunSubject(subjects.NewRunID(0)), lightEvent(0)
	const n = 50_000
	from := time.Now()
	for range n {
		if _, err := js.PublishAsync(subject, event, jetstream.WithStallWait(10*time.Second)); err != nil {
			b.Fatal(err)
		}
	}
	<-js.PublishAsyncComplete()
	return n / time.Since(from).Seconds()
}
