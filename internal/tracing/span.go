package tracing

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/rejoin/rejoin/subjects"
)

// scope is who records, as collectors show it.
const scope = "github.com/rejoin/rejoin"

// Tracer begins spans. nil records nothing, at no cost.
type Tracer struct{ tracer trace.Tracer }

// New makes a Tracer of a provider; nil makes nil.
func New(p trace.TracerProvider) *Tracer {
	if p == nil {
		return nil
	}
	return &Tracer{p.Tracer(scope)}
}

// Kind is what a span stands for on its way from one process to another.
type Kind = trace.SpanKind

// The kinds of span.
const (
	Internal = trace.SpanKindInternal
	Server   = trace.SpanKindServer   // a request that came
	Client   = trace.SpanKindClient   // a request that is made
	Consumer = trace.SpanKindConsumer // what was taken out of a queue
)

// Start begins a span below the one that ctx is in, or a trace. The span has to be
// ended.
func (t *Tracer) Start(ctx context.Context, name string, kind Kind) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	ctx, s := t.tracer.Start(ctx, name, trace.WithSpanKind(kind))
	return ctx, Span{s}
}

// Past records a span that is over: from a time until now.
func (t *Tracer) Past(ctx context.Context, name string, from time.Time) {
	if t == nil {
		return
	}
	_, s := t.tracer.Start(ctx, name, trace.WithTimestamp(from))
	s.End()
}

// Child begins a span below the one that ctx is in, where that is recorded; elsewhere ctx
// stays as it is, and nothing is recorded. So who makes a request needs no Tracer.
func Child(ctx context.Context, name string, kind Kind) (context.Context, Span) {
	s := trace.SpanFromContext(ctx)
	if !s.IsRecording() {
		return ctx, Span{}
	}
	return New(s.TracerProvider()).Start(ctx, name, kind)
}

// Current is the span that ctx is in. What is set on it counts only where it is one of
// this process.
func Current(ctx context.Context) Span { return Span{trace.SpanFromContext(ctx)} }

// Span is something that takes a while. The zero value records nothing, at no cost. What
// is set on it must be this program's own words, ids, or encoded as Token does.
type Span struct{ span trace.Span }

// Recording says whether anything that is set will be recorded.
func (s Span) Recording() bool { return s.span != nil && s.span.IsRecording() }

// Text sets an attribute.
func (s Span) Text(key, value string) {
	if s.Recording() {
		s.span.SetAttributes(attribute.String(key, value))
	}
}

// Token sets an attribute whose value came from outside, encoded.
func (s Span) Token(key, value string) {
	if !s.Recording() {
		return
	}
	if token, err := subjects.Token(value); err == nil && value != "" {
		s.span.SetAttributes(attribute.String(key, token))
	}
}

// Number sets an attribute.
func (s Span) Number(key string, n int64) {
	if s.Recording() {
		s.span.SetAttributes(attribute.Int64(key, n))
	}
}

// Fail says that it did not go well, and why in a word of this program's own.
func (s Span) Fail(why string) {
	if s.Recording() {
		s.span.SetStatus(codes.Error, why)
	}
}

// End ends the span. Nothing may be set afterwards.
func (s Span) End() {
	if s.span != nil {
		s.span.End()
	}
}

// Into is ctx in the span.
func (s Span) Into(ctx context.Context) context.Context {
	if s.span == nil {
		return ctx
	}
	return trace.ContextWithSpan(ctx, s.span)
}
