package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"

	"github.com/rejoin/rejoin/internal/natsd"
)

var errCut = errors.New("this process was killed")

// link is a life's way to the broker; it is a nats.InProcessConnProvider.
type link struct {
	server *natsd.Server

	mu   sync.Mutex
	gone bool
	conn net.Conn // the newest; those before it are dead
}

// InProcessConn is asked for each connection, also after one was lost.
func (l *link) InProcessConn() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return nil, errCut
	}
	conn, err := l.server.InProcessConn()
	if err == nil {
		l.conn = conn
	}
	return conn, err
}

// cut breaks the connection off, whatever is on its way, and lets none follow.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = true
	if l.conn != nil {
		_ = l.conn.Close()
	}
}

// lastWords is a log that is silent once its process is dead.
type lastWords struct {
	slog.Handler
	dead *atomic.Bool
}

// Enabled is false after death.
func (h *lastWords) Enabled(ctx context.Context, level slog.Level) bool {
	return !h.dead.Load() && h.Handler.Enabled(ctx, level)
}

// WithAttrs keeps the silence.
func (h *lastWords) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &lastWords{h.Handler.WithAttrs(attrs), h.dead}
}

// WithGroup keeps the silence.
func (h *lastWords) WithGroup(name string) slog.Handler {
	return &lastWords{h.Handler.WithGroup(name), h.dead}
}
