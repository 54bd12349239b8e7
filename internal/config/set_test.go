package config_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/config"
)

// all are flags of every kind.
type all struct {
	addr, level string
	lease       time.Duration
	partitions  int
	after       uint64
	maxEvent    int
	demo        bool
}

func declare() (*config.Set, *all) {
	v := &all{addr: "127.0.0.1:8080", level: "info", lease: 15 * time.Second, partitions: 4, maxEvent: 16 << 20, demo: true}
	s := config.NewSet("rejoin dev")
	s.Add(config.Text(&v.addr, "HOST:PORT", "HOST:PORT", func(s string) bool { return strings.Contains(s, ":") }), "addr", "Where to serve.")
	s.Add(config.OneOf(&v.level, "debug", "info"), "log-level", "What is logged.")
	s.Add(config.Duration(&v.lease, time.Second, time.Hour), "lease", "How long.")
	s.Add(config.Number(&v.partitions, 1, 256), "partitions", "How many.")
	s.Add(config.Number(&v.after, 0, 1<<53-1), "after", "The last seq.")
	s.Add(config.Size(&v.maxEvent, 1<<10, 64<<20), "max-event", "The largest event.")
	s.Add(config.Switch(&v.demo), "demo", "Produce\nruns.")
	return s, v
}

func env(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func TestDefaultsStandWhereNothingIsSaid(t *testing.T) {
	t.Parallel()
	s, v := declare()
	require.NoError(t, s.Parse(nil, env()))
	_, want := declare()
	require.Equal(t, want, v)
	require.False(t, s.Given("addr"))
}

func TestAFlagWinsOverItsVariableAndThatOverTheDefault(t *testing.T) {
	t.Parallel()
	variables := env("REJOIN_ADDR", "env:1", "REJOIN_LOG_LEVEL", "debug", "REJOIN_LEASE", "2s", "REJOIN_PARTITIONS", "8",
		"REJOIN_AFTER", "7", "REJOIN_MAX_EVENT", "2KiB", "REJOIN_DEMO", "false")

	s, v := declare()
	require.NoError(t, s.Parse(nil, variables))
	require.Equal(t, &all{"env:1", "debug", 2 * time.Second, 8, 7, 2048, false}, v)
	require.True(t, s.Given("addr"), "set by its variable is set")

	s, v = declare()
	require.NoError(t, s.Parse([]string{"--addr", "flag:2", "-log-level=info", "--lease=3s", "--partitions", "9",
		"--after=0", "--max-event", "1MiB", "--demo"}, variables))
	require.Equal(t, &all{"flag:2", "info", 3 * time.Second, 9, 0, 1 << 20, true}, v)
}

// A flag that was given the default's own value is still the flag's word.
func TestAFlagEqualToTheDefaultWins(t *testing.T) {
	t.Parallel()
	s, v := declare()
	require.NoError(t, s.Parse([]string{"--lease", "15s"}, env("REJOIN_LEASE", "2s")))
	require.Equal(t, 15*time.Second, v.lease)
}

func TestAnEmptyVariableIsNotSet(t *testing.T) {
	t.Parallel()
	s, v := declare()
	require.NoError(t, s.Parse(nil, env("REJOIN_ADDR", "", "REJOIN_LEASE", "")))
	require.Equal(t, "127.0.0.1:8080", v.addr)
	require.False(t, s.Given("addr"))
}

// The variable of a flag that is given is not even looked at.
func TestABadVariableBehindAFlagDoesNotMatter(t *testing.T) {
	t.Parallel()
	s, v := declare()
	require.NoError(t, s.Parse([]string{"--lease", "4s"}, env("REJOIN_LEASE", "soon")))
	require.Equal(t, 4*time.Second, v.lease)
}

func TestWhatIsWrongAndWhatIsAllowedIsSaid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args, vars []string
		wrong      string // what is wrong
		allowed    string
	}{
		{[]string{"--lease", "1ms"}, nil, `--lease is "1ms"`, "from 1s to 1h"},
		{[]string{"--lease", "2h"}, nil, `--lease is "2h"`, "from 1s to 1h"},
		{[]string{"--lease", "15"}, nil, `--lease is "15"`, "such as 1500ms"},
		{[]string{"--lease", ""}, nil, `--lease is ""`, "from 1s to 1h"},
		{[]string{"--partitions", "0"}, nil, `--partitions is "0"`, "from 1 to 256"},
		{[]string{"--partitions=-1"}, nil, `--partitions is "-1"`, "from 1 to 256"},
		{[]string{"--partitions", "1.5"}, nil, `--partitions is "1.5"`, "whole number"},
		{[]string{"--partitions", "99999999999999999999"}, nil, `--partitions is`, "from 1 to 256"},
		{[]string{"--after", "9007199254740992"}, nil, `--after is`, "9007199254740991"},
		{[]string{"--max-event", "1GiB"}, nil, `--max-event is "1GiB"`, "KiB or MiB"},
		{[]string{"--max-event", "65MiB"}, nil, `--max-event is "65MiB"`, "from 1KiB to 64MiB"},
		{[]string{"--max-event", "1"}, nil, `--max-event is "1"`, "from 1KiB"},
		{[]string{"--max-event", "99999999999MiB"}, nil, `--max-event is`, "from 1KiB"},
		{[]string{"--log-level", "loud"}, nil, `--log-level is "loud"`, "one of debug, info"},
		{[]string{"--demo=maybe"}, nil, `--demo is "maybe"`, "true or false"},
		{[]string{"--addr", "nowhere"}, nil, `--addr is "nowhere"`, "HOST:PORT"},
		{[]string{"--addr"}, nil, `--addr has no value`, "HOST:PORT"},
		{[]string{"--colour", "red"}, nil, `no flag "--colour"`, "--addr --log-level --lease"},
		{[]string{"-x"}, nil, `no flag "--x"`, "--addr"},
		{[]string{"extra"}, nil, `argument "extra"`, "flags only"},
		{[]string{"--demo", "false"}, nil, `argument "false"`, "flags only"},
		{nil, []string{"REJOIN_LEASE", "1ms"}, `REJOIN_LEASE is "1ms"`, "from 1s to 1h"},
		{nil, []string{"REJOIN_DEMO", "maybe"}, `REJOIN_DEMO is "maybe"`, "true or false"},
	} {
		s, _ := declare()
		err := s.Parse(c.args, env(c.vars...))
		var usage *config.UsageError
		require.ErrorAs(t, err, &usage, "%v %v", c.args, c.vars)
		require.Contains(t, usage.Text, "rejoin dev: ")
		require.Contains(t, usage.Text, c.wrong)
		require.Contains(t, usage.Text, c.allowed)
	}
}

func TestWholeSecondsAreWhole(t *testing.T) {
	t.Parallel()
	lease := 15 * time.Second
	s := config.NewSet("rejoin dev")
	s.Add(config.Seconds(&lease, time.Second, time.Hour), "lease", "How long.")
	require.NoError(t, s.Parse([]string{"--lease", "1m30s"}, env()))
	require.Equal(t, 90*time.Second, lease)
	require.ErrorContains(t, s.Parse([]string{"--lease", "1500ms"}, env()), "from 1s to 1h, in whole seconds, such as 15s")
}

func TestACommandWithoutFlagsSaysSo(t *testing.T) {
	t.Parallel()
	for _, arg := range []string{"--foo", "foo"} {
		err := config.NewSet("rejoin version").Parse([]string{arg}, env())
		require.ErrorContains(t, err, "; rejoin version takes none")
	}
}

// What was typed comes back escaped and cut, so that it cannot act on a terminal.
func TestABadValueIsShownHarmless(t *testing.T) {
	t.Parallel()
	s, _ := declare()
	err := s.Parse([]string{"--lease", "\x1b[2J" + strings.Repeat("x", 1000)}, env())
	require.NotContains(t, err.Error(), "\x1b")
	require.Less(t, len(err.Error()), 300)
}

// A URL with a password in it that is not well-formed is no reason to log the password.
func TestABadValueIsShownWithoutAPassword(t *testing.T) {
	t.Parallel()
	for value, shown := range map[string]string{
		"nats://relay:se/cr@t@broker:4222":                     "nats://…@broker:4222",
		"nats://a:secret@one:4222,nats://b:secr,et@two:4222":   "nats://…@two:4222",
		"relay:secret@broker:4222":                             "…@broker:4222",
		"nats://" + strings.Repeat("s", 100) + "@broker:4222/": "nats://…@broker:4222/",
		"nats://broker:port":                                   "nats://broker:port",
	} {
		require.Equal(t, shown, config.Shown(value))
		for _, args := range [][]string{{"--lease", value}, {value}, nil} {
			s, _ := declare()
			err := s.Parse(args, env("REJOIN_LEASE", value))
			require.ErrorContains(t, err, strconv.Quote(shown))
			require.NotContains(t, err.Error(), "se"+"cr")
		}
	}
}

func TestHelpIsAskedForAnywhere(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--help"}, {"-h"}, {"--lease", "3s", "--help"}} {
		s, _ := declare()
		require.ErrorIs(t, s.Parse(args, env()), config.ErrHelp)
	}
}

func TestHelpNamesKindDefaultVariableAndWhatIsAllowed(t *testing.T) {
	t.Parallel()
	s, v := declare()
	v.lease = time.Minute // what is parsed later does not change the default shown
	var b strings.Builder
	s.WriteHelp(&b, config.About{Summary: "run everything", Text: "More words.", Examples: []string{"rejoin dev --lease 2s"}})
	help := b.String()
	for _, want := range []string{
		"rejoin dev: run everything", "More words.", "rejoin dev --lease 2s",
		"--addr HOST:PORT  (default 127.0.0.1:8080, REJOIN_ADDR)",
		"--log-level debug|info  (default info, REJOIN_LOG_LEVEL)",
		"--lease TIME  (default 15s, REJOIN_LEASE)",
		"--partitions N  (default 4, REJOIN_PARTITIONS)",
		"--max-event SIZE  (default 16MiB, REJOIN_MAX_EVENT)",
		"--demo  (default true, REJOIN_DEMO)",
		"Allowed: a time from 1s to 1h, such as",
		"      Produce\n      runs.\n",
	} {
		require.Contains(t, help, want)
	}
}
