package rpc_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rejoin/rejoin/producer/acp/rpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 30 * time.Second

// log is a handler that writes down what arrives.
type log struct {
	mu    sync.Mutex
	lines []string
	on    func(method string, params json.RawMessage, reply rpc.Reply) // may be nil
}

func (l *log) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *log) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string{}, l.lines...)
}

func (l *log) Notify(method string, params json.RawMessage) { l.add("%s %s", method, params) }

func (l *log) Request(method string, params json.RawMessage, reply rpc.Reply) {
	l.add("%s? %s", method, params)
	if l.on == nil {
		reply(nil, rpc.Errorf(rpc.CodeMethodNotFound, "no %s", method))
		return
	}
	l.on(method, params, reply)
}

// side is the far end of a peer: what a scripted agent reads and writes.
type side struct {
	testing.TB
	*rpc.Peer
	in   *bufio.Reader
	inF  *os.File
	out  *os.File
	over chan error
}

// connect starts a peer over two pipes.
func connect(t testing.TB, cfg rpc.Config) *side {
	t.Helper()
	fromUs, toIt, err := os.Pipe()
	require.NoError(t, err)
	fromIt, toUs, err := os.Pipe()
	require.NoError(t, err)
	s := &side{TB: t, in: bufio.NewReader(fromUs), inF: fromUs, out: toUs, over: make(chan error, 1)}
	s.Peer = rpc.New(fromIt, toIt, cfg)
	var run sync.WaitGroup
	run.Go(func() { s.over <- s.Run() })
	t.Cleanup(func() {
		s.Close()
		run.Wait()
		_, _ = fromUs.Close(), toUs.Close()
	})
	return s
}

// say writes to the peer.
func (s *side) say(text string) {
	s.Helper()
	_, err := io.WriteString(s.out, text)
	require.NoError(s, err)
}

// hear reads the next line of the peer.
func (s *side) hear() string {
	s.Helper()
	require.NoError(s, s.inF.SetReadDeadline(time.Now().Add(patience)))
	line, err := s.in.ReadString('\n')
	require.NoError(s, err)
	return line[:len(line)-1]
}

// end waits for Run and gives its error.
func (s *side) end() error {
	s.Helper()
	select {
	case err := <-s.over:
		return err
	case <-time.After(patience):
		require.FailNow(s, "the peer has not ended")
		return nil
	}
}

// call makes a call in the background.
func (s *side) call(ctx context.Context, method string, params any) <-chan answer {
	got := make(chan answer, 1)
	go func() {
		result, err := s.Call(ctx, method, params)
		got <- answer{string(result), err}
	}()
	return got
}

type answer struct {
	result string
	err    error
}

func (s *side) wait(got <-chan answer) answer {
	s.Helper()
	select {
	case a := <-got:
		return a
	case <-time.After(patience):
		require.FailNow(s, "the call has not returned")
		return answer{}
	}
}
