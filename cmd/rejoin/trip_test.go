package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/test/proxy"
)

func delta(i int) string {
	return fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"%d "}`, i)
}

func deltas(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		b.WriteString(delta(i) + "\n")
	}
	return b.String()
}

// folded is what the deltas 1..n come to.
func folded(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "%d ", i)
	}
	return fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"%s"}`, b.String()) + "\n"
}

func TestWhatIsPublishedIsTailed(t *testing.T) {
	t.Parallel()
	url := dev(t, app.Config{}).URL()
	got := called(t.Context(), strings.NewReader(deltas(1, 3000)), "publish", "--url", url, "--chat", "c", "--persisted")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.err, "published 3000 lines")
	require.Contains(t, got.err, "the run is at seq 3000; it has ended (done) as saved")
	id := strings.TrimSpace(got.out)

	tail := called(t.Context(), nil, "tail", "--url", url, "--chat", "c", "--run", id, "--folded")
	require.Zero(t, tail.code, tail.err)
	require.Equal(t, folded(3000), tail.out)
	require.Empty(t, tail.err, "there is no terminal to show progress on")

	tail = called(t.Context(), nil, "tail", "--url", url, "--chat", "c", "--run", id, "--after", "2999", "--raw")
	require.Zero(t, tail.code, tail.err)
	require.Equal(t, `{"type":"STREAM_EVENT","run_id":"`+id+`","seq":3000,"event":`+delta(3000)+`}
{"type":"STREAM_END","run_id":"`+id+`","seq":3000,"persisted":true,"superseded":false,"reason":"done"}
`, tail.out)

	tail = called(t.Context(), nil, "tail", "--url", url, "--chat", "c", "--run", id, "--after", "2998")
	require.Zero(t, tail.code, tail.err)
	require.Equal(t, "── run "+id+"\n2999 3000 \n── the run has ended (done), and it was saved\n", tail.out)

	idle := called(t.Context(), nil, "tail", "--url", url, "--chat", "c")
	require.Equal(t, exitIdle, idle.code, "a chat whose newest run was saved is idle")
	require.Contains(t, idle.err, "or its last run has ended and was saved; --wait")

	for _, run := range []string{id, "0-0000000000000000000000000g"} {
		tail = called(t.Context(), nil, "tail", "--url", url, "--chat", "other", "--run", run)
		require.Equal(t, exitFailed, tail.code)
		require.Equal(t, "rejoin tail: there is no such run in this chat (any more)\n", tail.err)
	}
}

// A watcher that waits sees a run from its first event on, live.
func TestTailWaitsForARunAndFollowsIt(t *testing.T) {
	t.Parallel()
	url := dev(t, app.Config{}).URL()
	out := newOutput()
	tailed := make(chan int, 1)
	go func() {
		tailed <- run(t.Context(), []string{"tail", "--url", url, "--chat", "c", "--wait", "1m"},
			stdio{out: out, err: io.Discard, env: noEnv})
	}()
	in, w := io.Pipe()
	published := make(chan result, 1)
	go func() {
		published <- called(t.Context(), in, "publish", "--url", url, "--chat", "c", "--reason", "error")
	}()
	for i := 1; i <= 3; i++ { // each line is seen before the next is written
		_, err := io.WriteString(w, delta(i)+"\n")
		require.NoError(t, err)
		out.until(t, func(s string) bool { return strings.Contains(s, fmt.Sprintf("%d ", i)) })
	}
	w.Close()
	require.Zero(t, (<-published).code)
	require.Equal(t, exitUnsaved, <-tailed)
	require.Contains(t, out.String(), "1 2 3 \n── the run has ended (error), and it was not saved\n")
}

func TestABadLineIsNamedAndEndsTheRun(t *testing.T) {
	t.Parallel()
	url := dev(t, app.Config{}).URL()
	got := called(t.Context(), strings.NewReader(deltas(1, 3)+"\n\nnonsense\n"+delta(4)), "publish", "--url", url, "--chat", "c", "--persisted")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.err, "line 6 of the input: ")
	require.Contains(t, got.err, "published 3 lines in ")
	require.Contains(t, got.err, "it has ended (error)\n", "and is not called saved")
	tail := called(t.Context(), nil, "tail", "--url", url, "--chat", "c", "--folded")
	require.Equal(t, exitUnsaved, tail.code)
	require.Equal(t, folded(3), tail.out)
}

func TestALineThatIsTooLongIsNamed(t *testing.T) {
	t.Parallel()
	url := dev(t, app.Config{}).URL()
	got := called(t.Context(), strings.NewReader(deltas(1, 2)+strings.Repeat("x", 2000)+"\n"), "publish", "--url", url, "--chat", "c", "--max-event", "1KiB")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.err, "line 3 of the input: larger than 1024 bytes")
	require.Contains(t, got.err, "published 2 lines")
}

func TestAnInputThatBreaksIsSaid(t *testing.T) {
	t.Parallel()
	url := dev(t, app.Config{}).URL()
	in, w := io.Pipe()
	go func() {
		_, _ = io.WriteString(w, deltas(1, 2))
		w.CloseWithError(errors.New("the disk is gone"))
	}()
	got := called(t.Context(), in, "publish", "--url", url, "--chat", "c")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.err, "line 3 of the input: the disk is gone")
	require.Contains(t, got.err, "it has ended (error)")
}

// A run that was left open goes on, and a file that was published before is not
// published twice.
func TestPublishingGoesOnExactly(t *testing.T) {
	t.Parallel()
	url := dev(t, app.Config{}).URL()
	got := called(t.Context(), strings.NewReader(deltas(1, 10)), "publish", "--url", url, "--chat", "c", "--no-end")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.err, "left open")
	id := strings.TrimSpace(got.out)

	got = called(t.Context(), strings.NewReader(deltas(11, 20)), "publish", "--url", url, "--run", id, "--no-end")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.err, "seq 20")

	got = called(t.Context(), strings.NewReader(deltas(1, 25)), "publish", "--url", url, "--run", id, "--first-seq", "1")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.err, "seq 25")
	tail := called(t.Context(), nil, "tail", "--url", url, "--chat", "c", "--folded")
	require.Equal(t, exitUnsaved, tail.code)
	require.Equal(t, folded(25), tail.out)

	got = called(t.Context(), strings.NewReader(deltas(26, 30)), "publish", "--url", url, "--run", id)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.err, "run_ended")

	got = called(t.Context(), strings.NewReader(""), "publish", "--url", url, "--run", "0-0000000000000000000000000g")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.err, "not_found")
}

func TestAGapIsSaid(t *testing.T) {
	t.Parallel()
	url := dev(t, app.Config{}).URL()
	id := strings.TrimSpace(called(t.Context(), strings.NewReader(delta(1)), "publish", "--url", url, "--chat", "c", "--no-end").out)
	got := called(t.Context(), strings.NewReader(delta(9)), "publish", "--url", url, "--run", id, "--first-seq", "9")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.err, "seq_gap")
	require.Contains(t, got.err, "2", "the number that is expected")
}

func TestAnActiveRunCanBeLeftAlone(t *testing.T) {
	t.Parallel()
	url := dev(t, app.Config{}).URL()
	id := strings.TrimSpace(called(t.Context(), strings.NewReader(delta(1)), "publish", "--url", url, "--chat", "c", "--no-end").out)
	got := called(t.Context(), strings.NewReader(delta(1)), "publish", "--url", url, "--chat", "c", "--on-active", "reject")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.err, id)
	require.Contains(t, got.err, "--on-active supersede")

	out := newOutput()
	tailed := make(chan int, 1)
	go func() {
		tailed <- run(t.Context(), []string{"tail", "--url", url, "--chat", "c"}, stdio{out: out, err: io.Discard, env: noEnv})
	}()
	out.until(t, func(s string) bool { return strings.Contains(s, "1 ") })
	next := called(t.Context(), strings.NewReader(delta(1)), "publish", "--url", url, "--chat", "c")
	require.Zero(t, next.code, next.err)
	require.Equal(t, exitUnsaved, <-tailed)
	require.Contains(t, out.String(), "a newer run took the chat: "+strings.TrimSpace(next.out))
}

// The connection between publish and relay, and that between tail and relay, are cut
// again and again: what arrives is exact.
func TestCutConnectionsLoseAndRepeatNothing(t *testing.T) {
	t.Parallel()
	a := dev(t, app.Config{})
	p, err := proxy.Start(a.Addr())
	require.NoError(t, err)
	defer p.Close()
	url := "http://" + p.Addr()
	out := newOutput()
	tailed := make(chan int, 1)
	in, w := io.Pipe()
	published := make(chan result, 1)
	go func() { published <- called(t.Context(), in, "publish", "--url", url, "--chat", "c", "--persisted") }()
	go func() {
		tailed <- run(t.Context(), []string{"tail", "--url", url, "--chat", "c", "--wait", "1m"},
			stdio{out: out, err: io.Discard, env: noEnv})
	}()
	const rounds, each = 8, 50
	for i := range rounds {
		_, err := io.WriteString(w, deltas(i*each+1, (i+1)*each))
		require.NoError(t, err)
		out.until(t, func(s string) bool { return strings.Contains(s, fmt.Sprintf(" %d ", (i+1)*each)) })
		p.Cut()
	}
	w.Close()
	got := <-published
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.err, fmt.Sprintf("seq %d;", rounds*each))
	require.Zero(t, <-tailed)
	whole := called(t.Context(), nil, "tail", "--url", a.URL(), "--chat", "c", "--run", strings.TrimSpace(got.out), "--folded")
	require.Equal(t, folded(rounds*each), whole.out)
}

func TestARelayThatIsNotThereIsGivenUp(t *testing.T) {
	t.Parallel()
	got := called(t.Context(), strings.NewReader(delta(1)), "publish", "--url", "http://127.0.0.1:1", "--chat", "c", "--patience", "0s")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.err, "refused")
	require.Contains(t, got.err, "is a relay running at http://127.0.0.1:1? --url says where")
}

// Interrupted, publish stores what it has read and ends the run as stopped; tail
// says how to come back.
func TestInterruptingKeepsWhatWasRead(t *testing.T) {
	t.Parallel()
	url := dev(t, app.Config{}).URL()
	ctx, cancel := context.WithCancel(t.Context())
	in, w := io.Pipe()
	defer w.Close()
	published := make(chan result, 1)
	go func() { published <- called(ctx, in, "publish", "--url", url, "--chat", "c") }()
	out, errs := newOutput(), newOutput()
	watching, leave := context.WithCancel(t.Context())
	tailed := make(chan int, 1)
	go func() {
		tailed <- run(watching, []string{"tail", "--url", url, "--chat", "c", "--wait", "1m"}, stdio{out: out, err: errs, env: noEnv})
	}()
	_, err := io.WriteString(w, deltas(1, 5))
	require.NoError(t, err)
	out.until(t, func(s string) bool { return strings.Contains(s, "5 ") })
	leave()
	require.Equal(t, exitInterrupted, <-tailed)
	require.Contains(t, errs.String(), "--after 5")
	cancel()
	got := <-published
	require.Equal(t, exitInterrupted, got.code, got.err)
	require.Contains(t, got.err, "published 5 lines")
	require.Contains(t, got.err, "it has ended (stopped)")
}

// A relay that restarts behind an idle producer does not end its run.
func TestAnIdleProducerOutlivesItsRelay(t *testing.T) {
	t.Parallel()
	store := t.TempDir()
	first, err := app.New(app.Config{Addr: "127.0.0.1:0", Store: store, Lease: 30 * time.Second})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- first.Run(ctx) }()
	<-first.Ready()
	in, w := io.Pipe()
	out := newOutput()
	published := make(chan int, 1)
	go func() {
		published <- run(t.Context(), []string{"publish", "--url", first.URL(), "--chat", "c", "--persisted"},
			stdio{in: in, out: out, err: io.Discard, env: noEnv})
	}()
	id := strings.TrimSpace(out.until(t, func(s string) bool { return strings.HasSuffix(s, "\n") }))
	_, err = io.WriteString(w, delta(1)+"\n")
	require.NoError(t, err)
	live := newOutput()
	tailed := make(chan int, 1)
	go func() {
		tailed <- run(t.Context(), []string{"tail", "--url", first.URL(), "--chat", "c", "--run", id}, stdio{out: live, err: io.Discard, env: noEnv})
	}()
	live.until(t, func(s string) bool { return strings.Contains(s, "1 ") })
	stop()
	require.NoError(t, <-done)
	dev(t, app.Config{Addr: first.Addr(), Store: store, Lease: 30 * time.Second})
	_, err = io.WriteString(w, delta(2)+"\n")
	require.NoError(t, err)
	w.Close()
	require.Zero(t, <-published)
	require.Zero(t, <-tailed)
	require.Contains(t, live.String(), "2 ")
}
