package relay

import (
	"net/http"

	"github.com/rejoin/rejoin/internal/tracing"
	"github.com/rejoin/rejoin/subjects"
)

// untraced are the routes of which no request is a span of its own: what asks for health
// and numbers, and what a producer may call for every single event.
var untraced = map[string]bool{"/runs/{run_id}/events": true, "/runs/{run_id}/heartbeat": true}

// traced puts a request into the trace that it names, and records it as one span, however
// long its answer takes. Nobody gets here without the route's role, so that strangers
// cannot fill a collector.
func (s *Server) traced(t route) http.Handler {
	if t.access == public || untraced[t.pattern] {
		return t.handler
	}
	name := t.method + " " + t.pattern
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, span := s.tracer.Start(tracing.FromHTTP(r.Context(), r.Header), name, tracing.Server)
		if ctx != r.Context() { //nolint:fatcontext // one request
			r = r.WithContext(ctx)
		}
		if span.Recording() {
			span.Text("http.request.method", t.method)
			span.Text("http.route", t.pattern)
			span.Text("rejoin.realm", string(identity(ctx).Realm)) // encoded already
			defer span.End()
			defer status(span, w)
		}
		t.handler.ServeHTTP(w, r)
	})
}

// status says on a request's span how it was answered.
func status(span tracing.Span, w http.ResponseWriter) {
	rec, ok := w.(*recorder)
	if !ok || rec.status == 0 {
		return
	}
	span.Number("http.response.status_code", int64(rec.status))
	if rec.status >= http.StatusInternalServerError {
		span.Fail(http.StatusText(rec.status))
	}
}

// traceRun says on a request's span which run of which chat it was about.
func traceRun(span tracing.Span, chat string, id subjects.RunID) {
	span.Token("rejoin.chat", chat)
	span.Token("rejoin.run", string(id))
}

// traceFrames says on a request's span what of its run it was sent.
func traceFrames(span tracing.Span, st *stream) {
	if !span.Recording() {
		return
	}
	span.Number("rejoin.frames", int64(st.frames))
	span.Number("rejoin.seq.from", int64(st.first))
	span.Number("rejoin.seq.to", int64(st.last))
}

// traceClosed says on a request's span how its stream ended.
func traceClosed(span tracing.Span, wire string, c cause, bytes uint64) {
	if !span.Recording() {
		return
	}
	span.Text("rejoin.wire", wire)
	span.Text("rejoin.cause", string(c))
	span.Number("rejoin.bytes", int64(bytes))
	if c == causeError {
		span.Fail(string(c))
	}
}
