package natsd_test

import (
	"bytes"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
)

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func logsAt(t *testing.T, level slog.Level) string {
	t.Helper()
	var out buffer
	s, err := natsd.Start(natsd.Config{Logger: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level}))})
	require.NoError(t, err)
	nc, err := s.Connect()
	require.NoError(t, err)
	require.NoError(t, nc.Publish("secret.subject", []byte("x")))
	require.NoError(t, nc.Flush())
	nc.Close()
	s.Shutdown()
	return out.String()
}

func TestLogLinesKeepTheirLevels(t *testing.T) {
	t.Parallel()
	require.Empty(t, logsAt(t, slog.LevelError))

	info := logsAt(t, slog.LevelInfo)
	require.Contains(t, info, "level=INFO")
	require.Contains(t, info, "Server is ready")
	require.NotContains(t, info, "level=DEBUG")

	require.Contains(t, logsAt(t, slog.LevelDebug), "level=DEBUG")
}

// Trace lines are one per message and show subjects; asking for debug lines
// must not bring them.
func TestDebugDoesNotTraceMessages(t *testing.T) {
	t.Parallel()
	require.NotContains(t, logsAt(t, slog.LevelDebug), "secret.subject")
	require.Contains(t, logsAt(t, slog.LevelDebug-4), "secret.subject")
}
