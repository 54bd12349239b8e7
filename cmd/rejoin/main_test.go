package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rejoin/rejoin/internal/app"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if dir := binaryDir; dir != "" {
		os.RemoveAll(dir)
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}

// patience bounds every wait; nothing is expected to need it.
const patience = 2 * time.Minute

// output may be read while a command writes it.
type output struct {
	mu  sync.Mutex
	b   bytes.Buffer
	new chan struct{} // something was written
}

func newOutput() *output { return &output{new: make(chan struct{}, 1)} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.new <- struct{}{}:
	default:
	}
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// until waits until what was written satisfies ok.
func (o *output) until(t *testing.T, ok func(string) bool) string {
	t.Helper()
	over := time.After(patience)
	for {
		if s := o.String(); ok(s) {
			return s
		}
		select {
		case <-o.new:
		case <-over:
			t.Fatalf("it only says: %s", o.String())
		}
	}
}

// result is what a command did.
type result struct {
	code     int
	out, err string
}

// called runs a command in this process.
func called(ctx context.Context, in io.Reader, args ...string) result {
	var out, err bytes.Buffer
	code := run(ctx, args, stdio{in: in, out: &out, err: &err, env: noEnv})
	return result{code, out.String(), err.String()}
}

func noEnv(string) (string, bool) { return "", false }

// dev boots what rejoin dev runs, without the demo.
func dev(t *testing.T, cfg app.Config) *app.App {
	t.Helper()
	if cfg.Addr == "" {
		cfg.Addr = "127.0.0.1:0"
	}
	a, err := app.New(cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		a.Hurry()
		require.NoError(t, <-done)
	})
	select {
	case <-a.Ready():
	case <-time.After(patience):
		t.Fatal("not ready")
	}
	return a
}

var (
	binaryOnce sync.Once
	binaryDir  string
	binaryErr  error
)

// binary builds the command, once for all tests.
func binary(t *testing.T) string {
	t.Helper()
	binaryOnce.Do(func() {
		if binaryDir, binaryErr = os.MkdirTemp("", "rejoin-test-"); binaryErr != nil {
			return
		}
		out, err := exec.Command("go", "build", "-buildvcs=false", "-ldflags", "-X main.version=v0.0.0-test",
			"-o", filepath.Join(binaryDir, "rejoin"), ".").CombinedOutput()
		if err != nil {
			binaryErr = &exitError{1, string(out)}
		}
	})
	require.NoError(t, binaryErr)
	return filepath.Join(binaryDir, "rejoin")
}
