package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/app"
)

// process is the built command at work.
type process struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err *output
	url      string
	gone     chan struct{} // closed once it has ended
}

var serves = regexp.MustCompile(`rejoin serves on (http://\S+)\n`)

// spawn runs the built command until the test ends, and waits until it serves.
func spawn(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(binary(t), args...), out: newOutput(), err: newOutput(), gone: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.err
	require.NoError(t, p.cmd.Start())
	go func() {
		_ = p.cmd.Wait()
		close(p.gone)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.gone
		if t.Failed() {
			t.Logf("standard error of %v:\n%s", args, p.err)
		}
	})
	p.url = serves.FindStringSubmatch(p.out.until(t, serves.MatchString))[1]
	return p
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(s))
}

// exit waits for the process's end and returns its code.
func (p *process) exit() int {
	p.t.Helper()
	select {
	case <-p.gone:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		p.t.Fatalf("does not end: %s", p.err)
		return -1
	}
}

// clients share no connection with other tests, and leave none.
func clients(t *testing.T) *http.Client {
	tr := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func TestDevSaysWhereItServesAndWhatToTry(t *testing.T) {
	t.Parallel()
	p := spawn(t, "dev", "--addr", "127.0.0.1:0", "--nats-addr", "127.0.0.1:0", "--log-format", "json")
	out := p.out.until(t, func(s string) bool { return strings.Contains(s, "rejoin tail") })
	for _, path := range []string{"curl " + p.url + "/chat/send", "curl -N " + p.url + "/chat/live", "curl " + p.url + "/chat/answer"} {
		require.Contains(t, out, path)
	}
	require.Contains(t, out, "takes connections on nats://127.0.0.1:")
	got := called(t.Context(), nil, "version")
	require.Zero(t, got.code)

	// Its demo is there to be watched.
	s := (&consumer.Client{BaseURL: p.url, HTTP: clients(t)}).Watch(t.Context(), consumer.Watch{ChatID: "demo", Wait: patience})
	defer s.Close()
	for seen := 0; seen < 10; {
		f, err := s.Next(t.Context())
		require.NoError(t, err)
		if f.Type == consumer.Event {
			seen++
		}
	}
	p.signal(syscall.SIGINT)
	require.Zero(t, p.exit())
	for line := range strings.Lines(p.err.String()) {
		require.True(t, strings.HasPrefix(line, "{"), "not a JSON log line: %s", line)
	}
}

func TestABusyPortIsSaidPlainly(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	got := called(t.Context(), nil, "dev", "--addr", ln.Addr().String())
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.err, "another process serves on "+ln.Addr().String())
	require.Contains(t, got.err, "--addr")
	require.Empty(t, got.out)
}

// What cannot be used is said with its flag, and at once.
func TestWhatCannotBeUsedIsSaidWithItsFlag(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	nats := dev(t, app.Config{NATSAddr: "127.0.0.1:0"}).Broker().ClientURL()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, c := range []struct {
		args []string
		says []string
	}{
		{[]string{"dev", "--addr", "127.0.0.1:0", "--nats-addr", ln.Addr().String()},
			[]string{"another process serves on " + ln.Addr().String(), "(--nats-addr, REJOIN_NATS_ADDR)"}},
		{[]string{"dev", "--addr", "127.0.0.1:0", "--store", file}, []string{file + ": not a directory", "name a directory", "(--store, REJOIN_STORE)"}},
		{[]string{"relay", "--addr", "127.0.0.1:0", "--nats", "nats://127.0.0.1:1", "--nats-wait", "1h", "--nats-creds", file + ".creds"},
			[]string{file + ".creds", "(--nats-creds, REJOIN_NATS_CREDS)"}},
		{[]string{"janitor", "--nats", "nats://127.0.0.1:1", "--nats-wait", "1h", "--nats-creds", file + ".creds"},
			[]string{file + ".creds", "(--nats-creds, REJOIN_NATS_CREDS)"}},
		{[]string{"relay", "--addr", "127.0.0.1:0", "--nats", nats, "--nats-wait", "1h", "--replicas", "3"},
			[]string{"is this a cluster of 3 servers? else ask for 1", "(--replicas, REJOIN_REPLICAS)"}},
	} {
		got := called(t.Context(), nil, c.args...)
		require.Equal(t, exitFailed, got.code, c.args)
		for _, s := range c.says {
			require.Contains(t, got.err, s, c.args)
		}
	}
}

func TestRelayAndJanitorOnAServerElsewhere(t *testing.T) {
	t.Parallel()
	nats := dev(t, app.Config{NATSAddr: "127.0.0.1:0"}).Broker().ClientURL()
	p := spawn(t, "relay", "--nats", nats, "--addr", "127.0.0.1:0")
	got := called(t.Context(), strings.NewReader(deltas(1, 3)), "publish", "--url", p.url, "--chat", "c", "--persisted")
	require.Zero(t, got.code, got.err)
	p.signal(syscall.SIGTERM)
	require.Zero(t, p.exit())

	ctx, cancel := context.WithCancel(t.Context())
	errs := newOutput()
	swept := make(chan int, 1)
	go func() {
		swept <- run(ctx, []string{"janitor", "--nats", nats}, stdio{out: io.Discard, err: errs, env: noEnv})
	}()
	errs.until(t, func(s string) bool { return strings.Contains(s, "sweeping") })
	cancel()
	require.Zero(t, <-swept)
}

// OPS-01: with streams and bodies open, the first signal turns the relay unready,
// closes every stream without an end, sends producers elsewhere and exits 0 in time; the
// runs go on there, here in the next process on the same store.
func TestOPS01ShutdownWithOpenStreams(t *testing.T) {
	t.Parallel()
	const readers, producers = 200, 20
	store := t.TempDir()
	p := spawn(t, "dev", "--addr", "127.0.0.1:0", "--store", store, "--demo=false", "--lease", "1m")
	hc := clients(t)

	ids := make([]string, producers)
	var bodies []*io.PipeWriter
	var feeding sync.WaitGroup
	for i := range producers {
		a := &api{base: p.url, client: hc, log: nil}
		id, err := a.start(t.Context(), publishOptions{chat: fmt.Sprint("c", i), active: "supersede"})
		require.NoError(t, err)
		ids[i] = id
		body, w := io.Pipe()
		bodies = append(bodies, w)
		feeding.Go(func() {
			err := a.post(context.Background(), eventsPath(id), http.Header{"Rejoin-First-Seq": {"1"}}, body, nil)
			body.CloseWithError(io.ErrClosedPipe)
			var told *problemError
			if !errors.As(err, &told) || told.Status != http.StatusServiceUnavailable {
				t.Errorf("run %s: not told to go elsewhere: %v", id, err)
			}
		})
		_, err = io.WriteString(w, delta(1)+"\n")
		require.NoError(t, err)
	}
	var watching sync.WaitGroup
	var attached sync.WaitGroup
	attached.Add(readers)
	for i := range readers {
		watching.Go(func() { watchUntilClosed(t, hc, p.url, fmt.Sprint("c", i%producers), attached.Done) })
	}
	attached.Wait()

	from := time.Now()
	p.signal(syscall.SIGTERM)
	unready := false
	for !unready { // its listener stays open while streams do
		resp, err := hc.Get(p.url + "/readyz")
		if err != nil {
			break
		}
		unready = resp.StatusCode == http.StatusServiceUnavailable
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	require.True(t, unready, "it went away without ever being unready")
	watching.Wait()
	feeding.Wait()
	require.Zero(t, p.exit())
	t.Logf("stopped in %v", time.Since(from))

	p = spawn(t, "dev", "--addr", "127.0.0.1:0", "--store", store, "--demo=false", "--lease", "1m")
	for i, id := range ids {
		bodies[i].Close()
		got := called(t.Context(), strings.NewReader(deltas(1, 3)), "publish", "--url", p.url, "--run", id, "--first-seq", "1")
		require.Zero(t, got.code, got.err)
		require.Contains(t, got.err, "seq 3;")
	}
	whole := called(t.Context(), nil, "tail", "--url", p.url, "--chat", "c7", "--folded")
	require.Equal(t, exitUnsaved, whole.code)
	require.Equal(t, folded(3), whole.out)
}

// watchUntilClosed reads one stream to where the relay closes it, which is between
// frames, after it said when to come back, and without an end.
func watchUntilClosed(t *testing.T, hc *http.Client, url, chat string, attached func()) {
	resp, err := hc.Post(url+"/chat/live", "application/json", strings.NewReader(`{"chat_id":"`+chat+`","protocol":1,"synced":true}`))
	if err != nil {
		t.Errorf("%s: %v", chat, err)
		attached()
		return
	}
	defer resp.Body.Close()
	dec := consumer.NewDecoder(resp.Body)
	first := true
	for {
		m, err := dec.Next()
		if first {
			attached()
			first = false
		}
		if errors.Is(err, io.EOF) && dec.Retry() > 0 {
			return
		}
		if err != nil {
			t.Errorf("%s: %v, retry %v", chat, err, dec.Retry())
			return
		}
		f, err := consumer.ParseFrame(m.Data)
		if err != nil || f.Type == consumer.End {
			t.Errorf("%s: %v %v", chat, f.Type, err)
			return
		}
	}
}

// OPS-01: a second signal does not wait for what the first one would.
func TestOPS01ASecondSignalHurries(t *testing.T) {
	t.Parallel()
	p := spawn(t, "dev", "--addr", "127.0.0.1:0", "--demo=false", "--grace", "1h")
	hc := clients(t)
	a := &api{base: p.url, client: hc}
	id, err := a.start(t.Context(), publishOptions{chat: "c", active: "supersede"})
	require.NoError(t, err)
	require.NotEmpty(t, id)
	// A client that never sends its request to the end holds the first signal up.
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST /chat/live HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n{")
	require.NoError(t, err)
	resp, err := hc.Post(p.url+"/chat/live", "application/json", strings.NewReader(`{"chat_id":"c","protocol":1}`))
	require.NoError(t, err)
	defer resp.Body.Close()

	p.signal(syscall.SIGTERM)
	// Unready says that the first signal has arrived.
	for {
		ready, err := hc.Get(p.url + "/readyz")
		require.NoError(t, err)
		status := ready.StatusCode
		_, _ = io.Copy(io.Discard, ready.Body)
		ready.Body.Close()
		if status == http.StatusServiceUnavailable {
			break
		}
	}
	p.signal(syscall.SIGTERM)
	require.Zero(t, p.exit(), p.err.String())
	require.Contains(t, p.err.String(), "breaking off")
	answer, _ := io.ReadAll(conn)
	require.Empty(t, answer, "it was broken off, and not waited for until its time was over")
	_, err = bufio.NewReader(resp.Body).ReadString(0)
	require.Error(t, err)
}
