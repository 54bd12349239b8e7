package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
)

// NewLogger makes a logger that writes to w lines from the level on ("debug",
// "info", "warn" or "error") as "text" or "json".
func NewLogger(w io.Writer, level, format string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("%w: log level is %.20q, allowed are debug, info, warn, error", ErrConfig, level)
	}
	opts := &slog.HandlerOptions{Level: l, ReplaceAttr: inWords}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, opts)), nil
	}
	return nil, fmt.Errorf("%w: log format is %.20q, allowed are text, json", ErrConfig, format)
}

// inWords writes times such as 1.5s alike in both formats; JSON would have their
// nanoseconds.
func inWords(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// quieter passes on warnings and errors only, and everything once debug lines are
// asked for: what an embedded broker says at the info level is for its operators.
func quieter(l *slog.Logger) *slog.Logger {
	if l.Enabled(context.Background(), slog.LevelDebug) {
		return l
	}
	return slog.New(warnings{l.Handler()})
}

type warnings struct{ slog.Handler }

func (h warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && h.Handler.Enabled(ctx, l)
}

func (h warnings) WithAttrs(a []slog.Attr) slog.Handler { return warnings{h.Handler.WithAttrs(a)} }
func (h warnings) WithGroup(name string) slog.Handler   { return warnings{h.Handler.WithGroup(name)} }
