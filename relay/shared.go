package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/rejoin/rejoin/internal/problem"
	"github.com/rejoin/rejoin/internal/tracing"
)

// wireShared is what the metrics call a stream of several chats.
const wireShared = "shared"

// sharedLive serves POST /chats/live: several chats on one stream, for pages that have few
// connections.
func (s *Server) sharedLive(w http.ResponseWriter, r *http.Request) error {
	chats, err := parseShared(w, r)
	if err != nil {
		return err
	}
	if !canFlush(w) {
		return errNoFlush
	}
	unhurried(w)
	o, ctx, err := s.observers.admitMany(r.Context(), len(chats))
	if err != nil {
		s.refused(err)
		return err
	}
	defer o.done()
	leave, err := s.enterShared(ctx, o, chats)
	if err == nil {
		defer leave()
		err = o.stream()
	}
	if err != nil {
		s.refused(err)
		return err
	}
	s.streamShared(ctx, w, directTo(r), o, chats)
	return nil
}

// enterShared is switchboard.enter for all of the chats. Its answer says which of them are off,
// so that the others can be watched without those.
func (s *Server) enterShared(ctx context.Context, o *observer, chats []watch) (leave func(), err error) {
	realm := identity(ctx).Realm
	names := make([]string, len(chats))
	for i := range chats {
		chats[i].realm, names[i] = realm, chats[i].chat
	}
	leave, err = s.switches.enter(o, realm, names...)
	if p := (*problem.Error)(nil); errors.As(err, &p) {
		err = p.With("chats", s.switches.which(realm, names))
	}
	return leave, err
}

// streamShared answers 200 and serves the chats until there is a reason to stop.
func (s *Server) streamShared(ctx context.Context, w http.ResponseWriter, d *direct, o *observer, chats []watch) {
	from := time.Now()
	beginStream(w, "")
	s.metrics.opened.WithLabelValues(wireShared).Inc()
	s.metrics.observers.Add(float64(len(chats)))
	defer s.metrics.observers.Sub(float64(len(chats)))
	out := newSink(w, d, s.cfg.KeepAlive, s.cfg.WriteTimeout, o.cancel)
	defer out.close() // also when something below panics
	out.spreadOver(s.observers.spread)
	sh := &shared{server: s, observer: o, sink: out}
	for i, q := range chats {
		sh.chats = append(sh.chats, &sharedChat{of: sh, wire: newPlaced(i), q: q})
	}
	out.cutWhen(sh.overdue)
	err := out.comment()
	if err == nil {
		err = sh.serve(ctx)
	}
	c := (&stream{wire: protocol1{}, sink: out}).finish(err)
	frames := sh.frames()
	if span := tracing.Current(ctx); span.Recording() {
		span.Number("rejoin.chats", int64(len(chats)))
		span.Number("rejoin.frames", int64(frames))
	}
	s.closed(ctx, "", wireShared, c, err, out, from, slog.Int("chats", len(chats)), slog.Int("frames", frames))
}

// shared is one open stream of several chats.
type shared struct {
	server   *Server
	observer *observer
	sink     *sink // of all of them: each puts whole frames into it
	chats    []*sharedChat
}

// serve has each chat served by a goroutine of its own, until the first of them cannot go on,
// or the stream has to end. None is there any more when it returns why.
func (sh *shared) serve(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	over := make(chan error, len(sh.chats))
	var all sync.WaitGroup
	for _, c := range sh.chats {
		all.Go(func() { over <- c.guarded(ctx) })
	}
	var err error
	select {
	case c := <-sh.observer.leave:
		err = leaving(c)
	case err = <-over:
	}
	stop(err) // they stop between frames
	all.Wait()
	if p := (*panicked)(nil); errors.As(err, &p) {
		panic(p) // where it is caught, as of any handler
	}
	return err
}

// panicked is a panic of one chat's goroutine, on its way to that of the request.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string {
	return fmt.Sprintf("%v, in a chat of a shared stream: %s", p.value, p.stack)
}

// guarded is watch, whose panics are errors.
func (c *sharedChat) guarded(ctx context.Context) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{v, debug.Stack()}
		}
	}()
	return c.watch(ctx)
}

// overdue says that others wait for what one of the chats holds: all of it goes out by one
// socket, whose other end is too slow.
func (sh *shared) overdue() bool {
	for _, c := range sh.chats {
		if run := c.run.Load(); run != nil && run.overdue() {
			return true
		}
	}
	return false
}

func (sh *shared) frames() (n int) {
	for _, c := range sh.chats {
		n += c.frames
	}
	return n
}
