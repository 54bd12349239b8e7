package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// prompt is one state of an approval or a form, as a producer publishes it: an event of
// its own, and the card that shows it.
func prompt(kind, id, status string) []string {
	name := kind + ".request"
	if status != "pending" {
		name = kind + ".resolved"
	}
	return []string{
		fmt.Sprintf(`{"type":"CUSTOM","name":%q,"value":{"requestId":%q,"status":%q}}`, name, id, status),
		fmt.Sprintf(`{"type":"ACTIVITY_SNAPSHOT","messageId":"card %s","activityType":%q,"content":{"requestId":%q,"status":%q},"replace":true}`, id, kind, id, status),
	}
}

// history is a run in which an approval and a form were asked for and answered, so far
// apart that each is in another segment.
func history() (events []string, asked, answered []uint64) {
	chatter := func(id string, n int) {
		var deltas []string
		for i := range n {
			deltas = append(deltas, fmt.Sprint(i, " "))
		}
		events = append(events, talk(id, deltas...)...)
	}
	add := func(at *[]uint64, more []string) {
		events = append(events, more...)
		*at = append(*at, uint64(len(events)))
	}
	events = append(events, `{"type":"RUN_STARTED","threadId":"c","runId":"agent"}`)
	add(&asked, prompt("acp.permission", "p1", "pending"))
	chatter("a", 50)
	add(&answered, prompt("acp.permission", "p1", "selected"))
	chatter("b", 600)
	add(&asked, prompt("acp.elicitation", "f1", "pending"))
	add(&answered, prompt("acp.elicitation", "f1", "accepted"))
	chatter("c", 50)
	return events, asked, answered
}

// APP-02: an approval and a form that were answered stay answered for whoever comes
// later, by a snapshot, a replay from any place, or live; each event is there once.
func TestAPP02_WhatWasAnsweredIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	f := harness.New(t, harness.Config{})
	relay := f.Relay(harness.RelayConfig{})
	run := f.Start(f.Producer(f.Connect()), "c")
	events, asked, answered := history()
	want := reduce(events)
	require.Empty(t, want.Unknown)
	require.Empty(t, want.Pending())
	require.Equal(t, "selected", want.Status["prompt p1"])
	require.Equal(t, "accepted", want.Status["activity card f1"])

	live, c := &held{}, watch(t, relay.URL, harness.Live("c"))
	live.frame(t, c)
	legacy := watch(t, relay.URL, `{"chat_id":"c"}`)
	publish(t, run, events...)
	live.until(t, c, uint64(len(events)))
	require.Equal(t, events, live.events)
	// From before it was asked, from in between, and from after it was answered.
	readers := map[*held]*harness.Conn{{}: watch(t, relay.URL, harness.Live("c"))}
	for _, at := range append(append([]uint64{0}, asked...), answered...) {
		for _, after := range []uint64{at - min(at, 2), at - min(at, 1), at, at + 1} {
			readers[from(run.ID(), events[:after])] = watch(t, relay.URL, harness.Live("c", "run_id", run.ID(), "after_seq", after))
		}
	}
	finish(t, run, false)
	for h, c := range readers {
		h.toEnd(t, c)
		require.Equal(t, want, h.state())
		for _, id := range []string{"p1", "f1"} {
			require.Equal(t, 2, strings.Count(strings.Join(h.state().Others, "\n"), `"requestId":"`+id+`"`), "asked once, answered once")
		}
	}
	require.Equal(t, want, live.toEnd(t, c).state())
	require.Equal(t, want, reduce(legacyEvents(t, legacy)))
	byEveryRoute(t, relay.URL, "c", run.ID(), want, subjects.End{Reason: subjects.ReasonDone})
}

// APP-01 and APP-02: what still waits for an answer does so for a reader on another relay
// too, under the same id; and an answer that is published while a snapshot is on its
// way closes it.
func TestAPP02_AnAnswerThatComesAtTheSeam(t *testing.T) {
	t.Parallel()
	for _, at := range []step{subscribed, logRead, snapshotBuilt, atHead} {
		f := harness.New(t, harness.Config{})
		g := newGate(t, at)
		relay, other := f.Relay(harness.RelayConfig{Steps: g.steps()}), f.Relay(harness.RelayConfig{})
		run := f.Start(f.Producer(f.Connect()), "c")
		request, answer := prompt("acp.permission", "p1", "pending"), prompt("acp.permission", "p1", "selected")
		publish(t, run, request[0])
		publish(t, run, request[1])
		before := &held{}
		before.until(t, watch(t, other.URL, harness.Live("c")), 2)
		require.Equal(t, []string{"activity card p1", "prompt p1"}, before.state().Pending())

		h, c := &held{}, watch(t, relay.URL, harness.Live("c"))
		g.wait()
		publish(t, run, answer...)
		g.open()
		require.Equal(t, consumer.Snapshot, h.frame(t, c).Type)
		h.until(t, c, 4)
		require.Equal(t, append(request, answer...), h.events, at)
		require.Empty(t, h.state().Pending())
	}
}
