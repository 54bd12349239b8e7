package relay

import (
	"context"
	"log/slog"
	"time"

	"github.com/rejoin/rejoin/internal/tracing"
	"github.com/rejoin/rejoin/subjects"
)

// closed counts a stream that is over and writes its one line into the log: of which run it
// was, "" for none, on which wire, why it ended, how many bytes it had and how long it took. more is
// what else there is to say. Nothing in it was written by a client.
func (s *Server) closed(ctx context.Context, id subjects.RunID, wire string, c cause, err error, out *sink, from time.Time, more ...any) {
	s.metrics.closed.WithLabelValues(string(c)).Inc()
	s.metrics.bytes.Add(float64(out.written()))
	traceClosed(tracing.Current(ctx), wire, c, out.written())
	var line []any
	if id != "" {
		line = append(line, "run", id)
	}
	line = append(append(line, "wire", wire, "cause", c), more...)
	line = append(line, "bytes", out.written(), "took", time.Since(from).Round(time.Millisecond))
	if trace := tracing.ID(ctx); trace != "" {
		line = append(line, "trace_id", trace)
	}
	level := slog.LevelInfo
	if c == causeError {
		level = slog.LevelError
		line = append(line, "error", err)
	}
	s.log.Log(ctx, level, "stream closed", line...)
}
