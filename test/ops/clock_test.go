package ops_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clockEnv says by how much the clock of a process that runs offClock's binary is off.
const clockEnv = "CLOCK_OFF_BY"

// clock is the environment of a process whose clock is off by d.
func clock(d time.Duration) []string { return []string{clockEnv + "=" + d.String()} }

// wrongNow replaces time.Now. Only the time of day is off; what measures how long something
// takes is not, as where a clock was set wrong.
const wrongNow = `package time

import "syscall"

var offBy = func() int64 {
	s, _ := syscall.Getenv("` + clockEnv + `")
	d, _ := ParseDuration(s)
	return int64(d / Second)
}()

func Now() Time {
	t := rightNow()
	if t.wall&hasMonotonic != 0 {
		t.wall += uint64(offBy) << nsecShift
	} else {
		t.ext += offBy
	}
	return t
}
`

var offClock struct {
	sync.Mutex
	dir string
}

// wrongClock builds the rejoin command with a clock that clockEnv shifts, once for all tests, and says
// where it is. The compiler is given another time.Now, so that nothing that asks for the
// time gets round it. That compiles everything, once for as long as Go keeps what it has built.
func wrongClock(t *testing.T) string {
	t.Helper()
	offClock.Lock()
	defer offClock.Unlock()
	binary := filepath.Join(offClock.dir, "rejoin")
	if offClock.dir != "" {
		return binary
	}
	dir, err := os.MkdirTemp("", "rejoin-clock-")
	require.NoError(t, err)
	offClock.dir, binary = dir, filepath.Join(dir, "rejoin")
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	require.NoError(t, err)
	src := filepath.Join(strings.TrimSpace(string(out)), "src", "time")
	right, err := os.ReadFile(filepath.Join(src, "time.go"))
	require.NoError(t, err)
	const now = "\nfunc Now() Time {\n"
	require.Equal(t, 1, strings.Count(string(right), now), "where time.Now is")
	overlay := map[string]map[string]string{"Replace": {}}
	for name, text := range map[string]string{
		"time.go":    strings.Replace(string(right), now, "\nfunc rightNow() Time {\n", 1),
		"off_now.go": wrongNow,
	} {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		overlay["Replace"][filepath.Join(src, name)] = file
	}
	list, err := json.Marshal(overlay)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), list, 0o600))
	from := time.Now()
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary,
		"github.com/rejoin/rejoin/cmd/rejoin")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // there is no need to compile C, too
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%s", said)
	t.Logf("built in %v", since(from))
	return binary
}

// removeWrongClock removes what wrongClock has built.
func removeWrongClock() {
	offClock.Lock()
	defer offClock.Unlock()
	if offClock.dir != "" {
		_ = os.RemoveAll(offClock.dir)
	}
}
