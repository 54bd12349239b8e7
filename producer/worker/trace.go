package worker

import (
	"context"
	"time"

	"github.com/rejoin/rejoin/internal/tracing"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/subjects"
)

// claimed begins the span of a claimed turn.
func (w *Worker) claimed(t *turns.Turn) tracing.Span {
	_, span := w.tracer.Start(tracing.From(context.Background(), t.Trace), "turn", tracing.Consumer)
	span.Text("rejoin.run", string(t.RunID))
	span.Text("rejoin.turn", t.TurnID)
	span.Text("rejoin.realm", string(t.Realm)) // encoded already
	span.Token("rejoin.chat", t.ChatID)
	span.Token("rejoin.kind", t.Kind)
	return span
}

// waited records how long a turn has waited: beside its span, or below it where it was
// sent in no trace.
func (w *Worker) waited(t *turns.Turn, span tracing.Span) {
	ctx := span.Into(context.Background())
	if !t.Trace.IsZero() {
		ctx = tracing.From(context.Background(), t.Trace)
	}
	w.tracer.Past(ctx, "queue", t.SentAt)
}

// within is ctx in the turn's trace, recorded here or not.
func (j *job) within(ctx context.Context) context.Context {
	if j.w.tracer != nil {
		return j.span.Into(ctx)
	}
	return tracing.From(ctx, j.turn.Trace)
}

// ended says how the turn ended: on its span, and in the log, unless err says that this is
// not certain yet.
func (j *job) ended(end subjects.End, err error) {
	if err == nil {
		j.log.Info("turn answered", "reason", end.Reason, "persisted", end.Persisted,
			"took", time.Since(j.began).Round(time.Millisecond))
	}
	j.span.Text("rejoin.reason", string(end.Reason))
	if end.Reason == subjects.ReasonError || end.Reason == subjects.ReasonSaveFailed {
		j.span.Fail(string(end.Reason))
	}
}
