package subjects_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/subjects"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestTraceContexts(t *testing.T) {
	t.Parallel()
	trace := subjects.ParseTrace(parent, " vendor=x ,other=y")
	require.Equal(t, subjects.Trace{Parent: parent, State: "vendor=x ,other=y"}, trace)
	require.Equal(t, "4bf92f3577b34da6a3ce929d0e0e4736", trace.TraceID())
	h := nats.Header{}
	trace.Set(h)
	require.Equal(t, nats.Header{"traceparent": {parent}, "tracestate": {"vendor=x ,other=y"}}, h)
	h = nats.Header{}
	subjects.Trace{}.Set(h)
	require.Empty(t, h)
	require.Empty(t, subjects.Trace{}.TraceID())
	require.Equal(t, parent, subjects.ParseTrace("cc"+parent[2:]+"-what-comes-one-day", "").Parent)
	for _, state := range []string{strings.Repeat("x", 513), "a=\x00", "a=\r\nb", "a=é"} {
		require.Equal(t, subjects.Trace{Parent: parent}, subjects.ParseTrace(parent, state), "the state alone is left out")
	}
	require.Len(t, subjects.ParseTrace(parent, strings.Repeat("x", 512)).State, 512)
}

func TestMalformedTraceContextsAreNone(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"", "00", parent[:54], parent + "-", parent + "-00", " " + parent, parent + " ", strings.ToUpper(parent), "ff" + parent[2:],
		"cc" + parent[2:] + "x", "00-" + strings.Repeat("0", 32) + parent[35:], parent[:36] + strings.Repeat("0", 16) + "-01",
		strings.Replace(parent, "-", "_", 1), parent[:53] + "0g", "00-4bf92f3577b34da6a3ce929d0e0e473\x00-00f067aa0ba902b7-01",
		"00-4bf92f3577b34da6a3ce929d0e0e473\n-00f067aa0ba902b7-01", strings.Repeat("a", 100_000),
	} {
		require.True(t, subjects.ParseTrace(bad, "a=b").IsZero(), "%q", bad)
	}
}
