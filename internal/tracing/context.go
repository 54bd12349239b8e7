package tracing

import (
	"context"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/rejoin/rejoin/subjects"
)

// Headers as net/http spells them.
const (
	parentHeader = "Traceparent"
	stateHeader  = "Tracestate"
)

// FromHTTP is ctx in the trace that a request's headers name, ctx itself where they name
// none. Malformed ones are no trace.
func FromHTTP(ctx context.Context, h http.Header) context.Context {
	parents := h[parentHeader]
	if len(parents) != 1 {
		return ctx
	}
	state := ""
	switch states := h[stateHeader]; len(states) {
	case 0:
	case 1:
		state = states[0]
	default:
		state = strings.Join(states, ",")
	}
	return From(ctx, subjects.ParseTrace(parents[0], state))
}

// From is ctx in a trace that was stored, ctx itself where that is none. What was stored is
// checked again.
func From(ctx context.Context, t subjects.Trace) context.Context {
	if t = subjects.ParseTrace(t.Parent, t.State); t.IsZero() {
		return ctx
	}
	sc := trace.SpanContextConfig{Remote: true}
	var err error
	if sc.TraceID, err = trace.TraceIDFromHex(t.Parent[3:35]); err != nil {
		return ctx
	}
	if sc.SpanID, err = trace.SpanIDFromHex(t.Parent[36:52]); err != nil {
		return ctx
	}
	if strings.IndexByte("13579bdf", t.Parent[54]) >= 0 {
		sc.TraceFlags = trace.FlagsSampled
	}
	sc.TraceState, _ = trace.ParseTraceState(t.State) // one that is malformed is none
	return trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(sc))
}

// Of is where ctx is in its trace, to be stored or sent; the zero value where it is in none.
func Of(ctx context.Context) subjects.Trace {
	sc := trace.SpanContextFromContext(ctx)
	if !sc.IsValid() {
		return subjects.Trace{}
	}
	parent := "00-" + sc.TraceID().String() + "-" + sc.SpanID().String() + "-"
	if sc.IsSampled() {
		return subjects.ParseTrace(parent+"01", sc.TraceState().String())
	}
	return subjects.ParseTrace(parent+"00", sc.TraceState().String())
}

// Inject adds to a request's headers where ctx is in its trace. Those that are there stay
// where it is in none.
func Inject(ctx context.Context, h http.Header) {
	t := Of(ctx)
	if t.IsZero() {
		return
	}
	h[parentHeader] = []string{t.Parent}
	delete(h, stateHeader)
	if t.State != "" {
		h[stateHeader] = []string{t.State}
	}
}

// ID is the id of the trace that ctx is in, for log lines; "" for none.
func ID(ctx context.Context) string {
	if sc := trace.SpanContextFromContext(ctx); sc.HasTraceID() {
		return sc.TraceID().String()
	}
	return ""
}
