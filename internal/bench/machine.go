package bench

import (
	"bufio"
	"os"
	"runtime"
	"strings"

	"github.com/rejoin/rejoin/internal/bench/report"
	"github.com/rejoin/rejoin/subjects"
)

// machine is what every result says of where it was measured.
func (c *Config) machine() report.Result {
	r := report.Result{Commit: c.Commit, GoVersion: runtime.Version(), CPU: cpuModel(), Cores: runtime.NumCPU(),
		Partitions: c.Partitions, SyncInterval: "2m"}
	if c.SyncInterval > 0 {
		r.SyncInterval = short(c.SyncInterval.String())
	}
	if r.Partitions == 0 {
		r.Partitions = subjects.Partitions
	}
	return r
}

// short is a time without the zeros that it ends with.
func short(d string) string {
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(d, zero) {
			d = d[:len(d)-2]
		}
	}
	return d
}

// cpuModel is the processor's name as Linux has it, else the architecture.
func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
