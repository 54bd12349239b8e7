package main

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/app"
)

// A run's state is said where it is known only.
func TestARunThatHasEndedIsNotCalledOpen(t *testing.T) {
	t.Parallel()
	url := dev(t, app.Config{}).URL()
	got := called(t.Context(), strings.NewReader(delta(1)), "publish", "--url", url, "--chat", "c", "--persisted")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.err, "published 1 line in ")
	again := called(t.Context(), strings.NewReader(delta(1)), "publish", "--url", url, "--run", strings.TrimSpace(got.out), "--first-seq", "1")
	require.Equal(t, exitFailed, again.code)
	require.Contains(t, again.err, "run_ended")
	require.NotContains(t, again.err, "seq 0")
	require.NotContains(t, again.err, "open")
}

// The end comes from elsewhere while lines are read.
func TestARunThatOthersEndHasNoStateToSay(t *testing.T) {
	t.Parallel()
	url := dev(t, app.Config{}).URL()
	in, w := io.Pipe()
	out := newOutput()
	errs := newOutput()
	published := make(chan int, 1)
	go func() {
		published <- run(t.Context(), []string{"publish", "--url", url, "--chat", "c", "--no-end"}, stdio{in: in, out: out, err: errs, env: noEnv})
	}()
	id := strings.TrimSpace(out.until(t, func(s string) bool { return strings.HasSuffix(s, "\n") }))
	a := &api{base: url, client: clients(t)}
	require.NoError(t, a.end(t.Context(), id, endRequest{Reason: "done"}))
	go func() { _, _ = io.WriteString(w, delta(1)+"\n") }()
	require.Equal(t, exitFailed, <-published)
	w.Close()
	require.Regexp(t, `published 0 lines in [^;]*\n`, errs.String())
	require.NotContains(t, errs.String(), "open")
}

func TestTheChatOfARunIsChecked(t *testing.T) {
	t.Parallel()
	url := dev(t, app.Config{}).URL()
	id := strings.TrimSpace(called(t.Context(), strings.NewReader(delta(1)), "publish", "--url", url, "--chat", "c", "--no-end").out)
	got := called(t.Context(), strings.NewReader(delta(2)), "publish", "--url", url, "--chat", "other", "--run", id)
	require.Equal(t, exitUsage, got.code)
	require.Contains(t, got.err, `--chat is "other", but the run `+id+` is in the chat "c"`)
	got = called(t.Context(), strings.NewReader(deltas(1, 2)), "publish", "--url", url, "--chat", "c", "--run", id, "--first-seq", "1")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.err, "the run is at seq 2; it has ended (done)")
}
