package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/bench"
)

func TestBenchExplainsItsWorkloads(t *testing.T) {
	t.Parallel()
	help := called(t.Context(), nil, "bench", "--help").out
	for _, w := range bench.Workloads() {
		require.Contains(t, help, "  "+w.Name)
		require.Contains(t, help, w.Summary)
	}
}

func TestBenchCalledWrongly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		says []string
	}{
		{[]string{"--workload", "sleep"}, []string{`--workload is "sleep"`, "resume", "ingest", "poll"}},
		{[]string{"--workload", "resume,,poll"}, []string{"--workload"}},
		{[]string{"--case", "no such case"}, []string{"--case", `"no such case"`}},
		{[]string{"--rounds", "0"}, []string{"--rounds", "from 1 to 100"}},
		{[]string{"--partitions", "1000"}, []string{"--partitions", "from 0 to 256"}},
		{[]string{"--memlimit", "lots"}, []string{"--memlimit", "KiB or MiB"}},
	} {
		got := called(t.Context(), nil, append([]string{"bench"}, c.args...)...)
		require.Equal(t, exitUsage, got.code, c.args)
		require.Empty(t, got.out, c.args)
		for _, s := range c.says {
			require.Contains(t, got.err, s, c.args)
		}
	}
}

// Nobody measures for minutes to learn it afterwards.
func TestBenchLooksAtItsFilesFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	require.NoError(t, os.WriteFile(other, []byte("goos: linux\n"), 0o600))
	for _, c := range []struct{ flag, file, says string }{
		{"--compare", filepath.Join(dir, "none"), "no such file"},
		{"--compare", other, "line 1"},
		{"--json", filepath.Join(dir, "none", "x"), "no such file"},
	} {
		got := called(t.Context(), nil, "bench", c.flag, c.file)
		require.Equal(t, exitFailed, got.code)
		require.Contains(t, got.err, "rejoin bench: "+c.flag)
		require.Contains(t, got.err, c.says)
	}
}

// What rejoin bench starts is a word that no list has, and ends with its standard input.
func TestWhatBenchStarts(t *testing.T) {
	t.Parallel()
	require.NotContains(t, called(t.Context(), nil).out, benchChild)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"sse"}, "rejoin bench: bare SSE at 127.0.0.1:"},
		{[]string{"broker", "--store", t.TempDir()}, "rejoin bench: a broker at nats://127.0.0.1:"},
	} {
		got := called(t.Context(), strings.NewReader(""), append([]string{benchChild}, c.args...)...)
		require.Zero(t, got.code, got.err)
		require.Contains(t, got.out, c.says)
	}
	for _, args := range [][]string{{benchChild}, {benchChild, "dev"}} {
		got := called(t.Context(), new(bytes.Buffer), args...)
		require.Equal(t, exitUsage, got.code)
		require.Contains(t, got.err, "it takes broker, sse or relay")
	}
}
