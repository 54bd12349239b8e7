package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/config"
)

func TestAloneItListsItsCommands(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"help"}, {"--help"}, {"-h"}} {
		got := called(t.Context(), nil, args...)
		require.Zero(t, got.code)
		for _, c := range commands {
			require.Contains(t, got.out, "  "+c.name+" ")
			require.Contains(t, got.out, c.about.Summary)
		}
		require.Empty(t, got.err)
	}
}

func TestEveryCommandExplainsItself(t *testing.T) {
	t.Parallel()
	for _, c := range commands {
		for _, args := range [][]string{{c.name, "--help"}, {"help", c.name}} {
			got := called(t.Context(), nil, args...)
			require.Zero(t, got.code, c.name)
			require.Empty(t, got.err)
			require.Contains(t, got.out, "rejoin "+c.name+": "+c.about.Summary)
			require.NotEmpty(t, c.about.Examples, c.name)
			for _, line := range c.about.Examples {
				require.Contains(t, got.out, line)
			}
			for line := range strings.Lines(got.out) {
				if flag, ok := strings.CutPrefix(line, "  --"); ok {
					name := strings.FieldsFunc(flag, func(r rune) bool { return r == ' ' || r == '\n' })[0]
					require.Contains(t, line, "(default ", c.name)
					require.Contains(t, line, config.Env(name)+")", c.name)
				}
			}
		}
	}
}

// The examples of the help pages are parsed, so that they stay right.
func TestEveryExampleIsAccepted(t *testing.T) {
	t.Parallel()
	for _, c := range commands {
		for _, line := range c.about.Examples {
			_, rest, ok := strings.Cut(line, "rejoin "+c.name)
			require.True(t, ok, line)
			if i := strings.IndexAny(rest, "|<"); i >= 0 {
				rest = rest[:i]
			}
			set := config.NewSet("rejoin " + c.name)
			c.flags(set)
			require.NoError(t, set.Parse(strings.Fields(rest), noEnv), line)
		}
	}
}

// Every flag of the issue and of the protocol's limits is there.
func TestFlagsOfDev(t *testing.T) {
	t.Parallel()
	help := called(t.Context(), nil, "dev", "--help").out
	for _, flag := range []string{
		"--addr HOST:PORT  (default 127.0.0.1:8080", "--store DIR  (default none", "--nats-addr HOST:PORT  (default none",
		"--lease TIME  (default 15s", "--retain TIME  (default 5m", "--max-ended N  (default 0", "--partitions N  (default 0",
		"--gap-threshold N  (default 4096", "--max-event SIZE  (default 16MiB", "--grace TIME  (default 10s",
		"--demo  (default true", "--log-level debug|info|warn|error  (default info", "--log-format text|json  (default text",
	} {
		require.Contains(t, help, flag)
	}
}

func TestWrongCallsSayWhatIsAllowedAndExit2(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args string
		says []string
	}{
		{"tial", []string{`no command "tial"`, "dev, relay, worker, janitor, init, publish, tail, probe, bench, "}},
		{"dev --prot 1", []string{`no flag "--prot"`, "--addr"}},
		{"dev --lease 10ms", []string{`--lease is "10ms"`, "from 1s"}},
		{"dev --addr 8080", []string{`--addr is "8080"`, "HOST:PORT"}},
		{"dev --addr :70000", []string{`--addr is ":70000"`, "0 to 65535"}},
		{"dev --gap-threshold 5000", []string{"from 1 to 4096"}},
		{"dev --log-format xml", []string{"text, json"}},
		{"dev now", []string{`argument "now"`}},
		{"relay", []string{"--nats is missing", "rejoin dev"}},
		{"relay --nats host:4222", []string{`--nats is "host:4222"`, "nats://host:4222"}},
		{"relay --nats nats://h --replicas 6", []string{"from 0 to 5"}},
		{"janitor", []string{"--nats is missing", "--nats-context"}},
		{"init", []string{"--nats is missing", "--nats-context"}},
		{"init --nats nats://h --nats-inbox-prefix a.*", []string{`--nats-inbox-prefix is "a.*"`, "without wildcards"}},
		{"worker --nats nats://h --nats-domain a.b", []string{`--nats-domain is "a.b"`, "without dots"}},
		{"publish", []string{"--chat is missing"}},
		{"publish --chat c --first-seq 3", []string{"--first-seq needs --run"}},
		{"publish --chat c --no-end --persisted", []string{"--no-end excludes"}},
		{"publish --chat c --reason abandoned", []string{`--reason is "abandoned"`, "done, error, stopped, skipped, save_failed"}},
		{"publish --chat c --run nope", []string{`--run is "nope"`, "a run's id"}},
		{"publish --chat c --url ftp://h", []string{`--url is "ftp://h"`, "http://127.0.0.1:8080"}},
		{"tail", []string{"--chat is missing"}},
		{"tail --chat c --after 3", []string{"--after needs --run"}},
		{"tail --chat c --raw --folded", []string{"exclude each other"}},
		{"tail --chat " + strings.Repeat("c", 257), []string{"1 to 256 bytes"}},
		{"dev --cors-origin https://app.example.com/", []string{`--cors-origin is "https://app.example.com/"`, "scheme://host:port"}},
		{"dev --cors-origin https://a.example --cors-origin *", []string{"--cors-origin is * and 1 more", "* alone"}},
		{"dev --max-wait 31s", []string{"--max-wait", "from 1s to 30s"}},
		{"dev --lease 1500ms", []string{`--lease is "1500ms"`, "in whole seconds, such as 15s"}},
		{"dev --url http://agent", []string{"REJOIN_URL", "--agent agui"}},
		{"dev --agent none -- agent", []string{"only for --agent acp"}},
		{"worker --nats nats://h --agent none", []string{"one of demo, agui, acp"}},
		{"version --short", []string{`no flag "--short"`, "takes none"}},
	} {
		got := called(t.Context(), nil, strings.Fields(c.args)...)
		require.Equal(t, exitUsage, got.code, c.args)
		require.Empty(t, got.out, c.args)
		for _, s := range c.says {
			require.Contains(t, got.err, s, c.args)
		}
	}
}

// Whoever forgets a colon or quotes does not find the secret in a log.
func TestSecretsAreNotRepeated(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"dev", "--agent-header", "Authorization Bearer SECRET1"},
		{"dev", "--agent", "agui", "--url", "http://a", "--agent-header", "Authorization:", "SECRET1"},
		{"worker", "--nats", "nats://h", "--agent", "demo", "--save-url", "http://a", "--save-secret", "one", "SECRET1"},
		{"tail", "--chat", "c", "--token", "Bearer", "SECRET1"},
		{"dev", "--forward-headers", "Authorization: Bearer SECRET1"},
	} {
		got := called(t.Context(), nil, args...)
		require.Equal(t, exitUsage, got.code, args)
		require.NotContains(t, got.err, "SECRET1")
		require.Regexp(t, "not repeated here", got.err)
	}
}

func TestVariablesOfTheEnvironmentAreRead(t *testing.T) {
	t.Parallel()
	var out, errs strings.Builder
	std := stdio{out: &out, err: &errs, env: func(name string) (string, bool) {
		return "10ms", name == "REJOIN_LEASE"
	}}
	require.Equal(t, exitUsage, run(t.Context(), []string{"dev"}, std))
	require.Contains(t, errs.String(), `REJOIN_LEASE is "10ms"`)
}

func TestVersionNamesWhatItWasBuiltOf(t *testing.T) {
	t.Parallel()
	got := called(t.Context(), nil, "version")
	require.Zero(t, got.code)
	for _, want := range []string{"rejoin ", "go           go1.", "nats.go ", "nats-server "} {
		require.Contains(t, got.out, want)
	}
	require.NotContains(t, got.out, "commit       unknown")
}
