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
func (s *Server) closed(ctx context.Context, id subjects.RunID, wire string, c cause, err error, out *sink, from time.Time, more ...slog.Attr) {
	s.metrics.closed.WithLabelValues(string(c)).Inc()
	bytes := out.written()
	s.metrics.bytes.Add(float64(bytes))
	traceClosed(tracing.Current(ctx), wire, c, bytes)
	level := slog.LevelInfo
	if c == causeError {
		level = slog.LevelError
	}
	if !s.log.Enabled(ctx, level) {
		return
	}
	line := make([]slog.Attr, 0, 10)
	if id != "" {
		line = append(line, slog.String("run", string(id)))
	}
	line = append(append(line, slog.String("wire", wire), slog.String("cause", string(c))), more...)
	line = append(line, slog.Uint64("bytes", bytes), slog.Duration("took", time.Since(from).Round(time.Millisecond)))
	if trace := tracing.ID(ctx); trace != "" {
		line = append(line, slog.String("trace_id", trace))
	}
	if c == causeError {
		line = append(line, slog.Any("error", err))
	}
	s.log.LogAttrs(ctx, level, "stream closed", line...)
}
