package natsd

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
)

// levelTrace is below Debug: the server's trace lines are one per protocol
// message, which nobody who asks for debug lines wants.
const levelTrace = slog.LevelDebug - 4

// logAdapter hands the server's log lines to slog and remembers the last
// fatal one. The server reports a failed start by such a line only, and goes
// on; its own logger would end the process there.
type logAdapter struct {
	log *slog.Logger // nil: lines are dropped

	mu    sync.Mutex
	fatal string
}

func (a *logAdapter) enabled(l slog.Level) bool {
	return a.log != nil && a.log.Enabled(context.Background(), l)
}

func (a *logAdapter) emit(l slog.Level, format string, v []any) {
	if a.enabled(l) {
		a.log.Log(context.Background(), l, fmt.Sprintf(format, v...), "component", "nats-server")
	}
}

func (a *logAdapter) Noticef(format string, v ...any) { a.emit(slog.LevelInfo, format, v) }
func (a *logAdapter) Warnf(format string, v ...any)   { a.emit(slog.LevelWarn, format, v) }
func (a *logAdapter) Errorf(format string, v ...any)  { a.emit(slog.LevelError, format, v) }
func (a *logAdapter) Debugf(format string, v ...any)  { a.emit(slog.LevelDebug, format, v) }
func (a *logAdapter) Tracef(format string, v ...any)  { a.emit(levelTrace, format, v) }

func (a *logAdapter) Fatalf(format string, v ...any) {
	a.mu.Lock()
	a.fatal = fmt.Sprintf(format, v...)
	a.mu.Unlock()
	a.emit(slog.LevelError, format, v)
}

// lastFatal is the reason the server gave up, "" if it did not.
func (a *logAdapter) lastFatal() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.fatal
}
