package tracing_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/rejoin/rejoin/internal/tracing"
	"github.com/rejoin/rejoin/subjects"
)

const (
	traceID   = "4bf92f3577b34da6a3ce929d0e0e4736"
	sampled   = "00-" + traceID + "-00f067aa0ba902b7-01"
	unsampled = "00-" + traceID + "-00f067aa0ba902b7-00"
)

func header(parent ...string) http.Header { return http.Header{"Traceparent": parent} }

// What came along goes on as it is, with nothing configured.
func TestPassThrough(t *testing.T) {
	t.Parallel()
	for _, parent := range []string{sampled, unsampled} {
		h := header(parent)
		h["Tracestate"] = []string{"a=1", "b=2"}
		ctx := tracing.FromHTTP(t.Context(), h)
		require.Equal(t, subjects.Trace{Parent: parent, State: "a=1,b=2"}, tracing.Of(ctx))
		require.Equal(t, traceID, tracing.ID(ctx))
		require.Equal(t, parent == sampled, trace.SpanContextFromContext(ctx).IsSampled(), "others see it, too")

		ctx, span := (*tracing.Tracer)(nil).Start(tracing.From(t.Context(), tracing.Of(ctx)), "n", tracing.Server)
		ctx, child := tracing.Child(ctx, "c", tracing.Client)
		out := http.Header{"Tracestate": {"old"}}
		tracing.Inject(ctx, out)
		child.End()
		span.Text("k", "v")
		span.Fail("f")
		span.End()
		require.Equal(t, http.Header{"Traceparent": {parent}, "Tracestate": {"a=1,b=2"}}, out)
	}
}

func TestMalformedContextsAreIgnored(t *testing.T) {
	t.Parallel()
	for _, h := range []http.Header{nil, {}, header(), header(""), header("x"), header(sampled, sampled), header(sampled + "\n"),
		header(strings.ToUpper(sampled)), header("00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01")} {
		ctx := tracing.FromHTTP(t.Context(), h)
		require.Equal(t, t.Context(), ctx)
		require.True(t, tracing.Of(ctx).IsZero())
		require.Empty(t, tracing.ID(ctx))
		out := http.Header{}
		tracing.Inject(ctx, out)
		require.Empty(t, out)
	}
	require.Equal(t, t.Context(), tracing.From(t.Context(), subjects.Trace{Parent: "stored by hand"}))
	h := header(sampled)
	for _, bad := range []string{"=", "a=1,a=2", strings.Repeat("a=1,", 200), "a=\x00"} {
		h["Tracestate"] = []string{bad}
		require.Equal(t, subjects.Trace{Parent: sampled}, tracing.Of(tracing.FromHTTP(t.Context(), h)), "%q: the state alone is left out", bad)
	}
}

// Where nothing is recorded, nothing is allocated.
func TestNothingCostsNothing(t *testing.T) {
	ctx := context.Background()
	var none *tracing.Tracer
	h := http.Header{"Accept": {"text/event-stream"}}
	allocs := testing.AllocsPerRun(1000, func() {
		ctx := tracing.FromHTTP(ctx, h)
		ctx, span := none.Start(ctx, "POST /chat/live", tracing.Server)
		ctx, child := tracing.Child(ctx, "agent", tracing.Client)
		child.Text("rejoin.run", "0-x")
		tracing.Current(ctx).Number("rejoin.seq", 7)
		tracing.Inject(ctx, h)
		child.End()
		span.Fail("x")
		span.End()
	})
	require.Zero(t, allocs)
}

func BenchmarkNothing(b *testing.B) {
	var none *tracing.Tracer
	h := http.Header{"Accept": {"text/event-stream"}}
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		ctx := tracing.FromHTTP(ctx, h)
		ctx, span := none.Start(ctx, "POST /chat/live", tracing.Server)
		tracing.Current(ctx).Number("rejoin.seq", 7)
		span.End()
	}
}
