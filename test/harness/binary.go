package harness

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

var built struct {
	sync.Mutex
	dir string
}

// Binary builds the rejoin command, once for all tests of a process, and says where it
// is. RemoveBinary has to be called when they are over.
func Binary(t testing.TB) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	path := filepath.Join(built.dir, "rejoin")
	if built.dir != "" {
		return path
	}
	dir, err := os.MkdirTemp("", "rejoin-bin-")
	require.NoError(t, err)
	path = filepath.Join(dir, "rejoin")
	out, err := exec.Command("go", "build", "-o", path, "github.com/rejoin/rejoin/cmd/rejoin").CombinedOutput()
	if err != nil {
		_ = os.RemoveAll(dir)
	}
	require.NoError(t, err, "%s", out)
	built.dir = dir
	return path
}

// RemoveBinary removes what Binary has built.
func RemoveBinary() {
	built.Lock()
	defer built.Unlock()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
		built.dir = ""
	}
}

// FreeAddr is an address of this machine that nobody uses. Its port is below those that
// the system gives out by itself, so that it can be used again after a crash.
func FreeAddr(t testing.TB) string {
	t.Helper()
	for range 100 {
		ln, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(20_000+rand.IntN(10_000)))
		if err == nil {
			require.NoError(t, ln.Close())
			return ln.Addr().String()
		}
	}
	require.FailNow(t, "no free port")
	return ""
}

// Rejoin is a rejoin process that serves on one address for all its lives.
type Rejoin struct {
	testing.TB
	URL   string
	NATS  string   // where its broker takes connections; "" where it has none
	Env   []string // NAME=value pairs for Start
	Path  string   // of the binary for Start; "" means Binary
	Under []string // command that Start runs, given the binary and its arguments; nil runs the binary itself
	args  []string
	proc  *Process
}

// NewDev is `rejoin dev`, with its broker and its demo, on one store for all its lives.
// Start starts it.
func NewDev(t testing.TB, args ...string) *Rejoin {
	t.Helper()
	nats := FreeAddr(t)
	r := newRejoin(t, append([]string{"dev", "--store", t.TempDir(), "--nats-addr", nats}, args...))
	r.NATS = "nats://" + nats
	return r
}

// RelayProcess is `rejoin relay` on the fabric's broker, which needs a listener. Start
// starts it.
func (f *Fabric) RelayProcess(args ...string) *Rejoin {
	f.Helper()
	return newRejoin(f, append([]string{"relay", "--nats", f.url}, args...))
}

// WorkerCommand is `rejoin worker` on the fabric's broker, which needs a listener, with an
// agent that args name.
func (f *Fabric) WorkerCommand(args ...string) *Process {
	f.Helper()
	return Spawn(f, exec.Command(Binary(f), append([]string{"worker", "--nats", f.url}, args...)...))
}

func newRejoin(t testing.TB, args []string) *Rejoin {
	t.Helper()
	addr := FreeAddr(t)
	return &Rejoin{TB: t, URL: "http://" + addr, args: append(args, "--addr", addr)}
}

// Start starts the process; Ready waits until it serves. args are for this life alone.
func (r *Rejoin) Start(args ...string) {
	r.Helper()
	path := r.Path
	if path == "" {
		path = Binary(r)
	}
	words := slices.Concat(r.Under, []string{path}, r.args, args)
	r.proc = Spawn(r, exec.Command(words[0], words[1:]...), r.Env...)
}

// Ready waits until the process serves.
func (r *Rejoin) Ready() {
	r.Helper()
	require.Equal(r, r.URL, r.proc.Line("rejoin serves on "))
}

// Kill ends the process as a crash does.
func (r *Rejoin) Kill() { r.proc.Kill() }

// Terminate asks the process to end, as an operator does, with SIGTERM.
func (r *Rejoin) Terminate() {
	r.Helper()
	r.proc.Terminate()
}

// Exit waits until the process is gone, and gives its exit code.
func (r *Rejoin) Exit() int {
	r.Helper()
	return r.proc.Exit()
}

// Freeze makes the process do nothing until Thaw, or until it is killed, as when its machine
// stands still: its connections stay open.
func (r *Rejoin) Freeze() {
	r.Helper()
	r.proc.signal(syscall.SIGSTOP)
}

// Thaw lets the process go on.
func (r *Rejoin) Thaw() {
	r.Helper()
	r.proc.signal(syscall.SIGCONT)
}

// Number is what the process says of a number without labels under /metrics.
func (r *Rejoin) Number(name string) (float64, error) {
	resp, err := wireHTTP.Get(r.URL + "/metrics")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("there is no number %s (%w)", name, cmp.Or(lines.Err(), io.EOF))
}
