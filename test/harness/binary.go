package harness

import (
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
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

// Dev is a `rejoin dev` process, with its broker and its demo, on one address and one
// store for all its lives.
type Dev struct {
	testing.TB
	URL  string
	args []string
	bin  string
	proc *Process
}

// NewDev says how the process is to be; Start starts it.
func NewDev(t testing.TB, args ...string) *Dev {
	t.Helper()
	addr := FreeAddr(t)
	return &Dev{TB: t, URL: "http://" + addr, bin: Binary(t),
		args: append([]string{"dev", "--addr", addr, "--store", t.TempDir()}, args...)}
}

// Start starts the process; Ready waits until it serves. args are for this life alone.
func (d *Dev) Start(args ...string) {
	d.Helper()
	d.proc = Spawn(d, exec.Command(d.bin, append(d.args, args...)...))
}

// Ready waits until the process serves.
func (d *Dev) Ready() {
	d.Helper()
	require.Equal(d, d.URL, d.proc.Line("rejoin serves on "))
}

// Kill ends the process as a crash does.
func (d *Dev) Kill() { d.proc.Kill() }
