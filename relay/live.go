package relay

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/tracing"
	"github.com/rejoin/rejoin/subjects"
)

// livePost serves POST /chat/live.
func (s *Server) livePost(w http.ResponseWriter, r *http.Request) error {
	leave := inRoom(r, s.room) // a stock client brings its whole conversation, of which little is kept
	q, err := parseBody(w, r)
	leave()
	if err != nil {
		return err
	}
	return s.live(w, r, q)
}

// liveGet serves GET /chat/live.
func (s *Server) liveGet(w http.ResponseWriter, r *http.Request) error {
	q, err := parseQuery(r)
	if err != nil {
		return err
	}
	return s.live(w, r, q)
}

// live finds the run to watch and serves it.
func (s *Server) live(w http.ResponseWriter, r *http.Request, q watch) error {
	q.realm = identity(r.Context()).Realm
	if !canFlush(w) {
		return errNoFlush
	}
	unhurried(w)
	o, ctx, err := s.observers.admit(r.Context())
	if err != nil {
		s.refused(err)
		return err
	}
	defer o.done()
	leave, err := s.switches.enter(o, q.realm, q.chat)
	if err != nil {
		s.refused(err)
		return err
	}
	defer leave()
	entry, err := s.find(ctx, &q)
	if errors.Is(err, consumer.ErrIdle) {
		w.Header().Set("Cache-Control", "no-store")
		writeEmpty(w, http.StatusNoContent)
		return nil
	}
	if err == nil {
		err = o.watches(entry.RunID)
	}
	if err == nil {
		err = o.stream()
	}
	if err != nil {
		s.refused(err)
		return err
	}
	traceRun(tracing.Current(ctx), entry.ChatID, entry.RunID)
	s.stream(ctx, w, r, o, q.wire(), &lateReader{hub: s.cfg.Hub, id: entry.RunID, entry: entry, opt: q.options()})
	return nil
}

// find waits for the run as long as the request asks for. Nothing is sent meanwhile.
func (s *Server) find(ctx context.Context, q *watch) (*runs.Entry, error) {
	if g := identity(ctx).Resume; g != nil {
		return s.granted(ctx, g, q)
	}
	s.metrics.waiters.Inc()
	defer s.metrics.waiters.Dec()
	q.wait = min(q.wait, s.cfg.MaxWait)
	e, err := s.cfg.Hub.Find(ctx, q.find())
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return e, err
}

func (s *Server) refused(err error) {
	switch {
	case errors.Is(err, errFull):
		s.metrics.refused.WithLabelValues("full").Inc()
	case errors.Is(err, errOwnerFull):
		s.metrics.refused.WithLabelValues("owner").Inc()
	case errors.Is(err, errRunFull):
		s.metrics.refused.WithLabelValues("run").Inc()
	case errors.Is(err, errDraining):
		s.metrics.refused.WithLabelValues("draining").Inc()
	case errors.Is(err, errSwitchedOff):
		s.metrics.refused.WithLabelValues("switched_off").Inc()
	}
}

// beginStream sends the header of a stream of one run, or of none where id is "".
func beginStream(w http.ResponseWriter, id subjects.RunID) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no")
	if id != "" {
		h.Set("Rejoin-Run-Id", string(id))
	}
	w.WriteHeader(http.StatusOK)
}

// stream answers 200 and serves the run. The header and a comment go out before
// anything is read of the run, so that proxies and clients know where they are.
func (s *Server) stream(ctx context.Context, w http.ResponseWriter, r *http.Request, o *observer, wire wire, run *lateReader) {
	from := time.Now()
	ui, _ := wire.(*uiWire)
	if ui != nil {
		w.Header().Set(uiHeader, uiVersion)
	}
	beginStream(w, run.id)
	s.metrics.opened.WithLabelValues(wire.name()).Inc()
	s.metrics.observers.Inc()
	defer s.metrics.observers.Dec()

	out := newSink(w, directTo(r), s.cfg.KeepAlive, s.cfg.WriteTimeout, o.cancel)
	defer out.close() // also when something below panics
	st := &stream{wire: wire, sink: out, leave: o.leave, brokerPatience: s.cfg.BrokerPatience, count: s.metrics.frames}
	run.opt.Asks = out.lingers
	out.cutWhen(run.overdue)
	defer run.close()
	if _, ok := wire.(protocol1); ok { // the legacy wire has nothing but events
		out.spreadOver(s.observers.spread)
		if out.out.direct != nil {
			a := s.audiences.enter(run.id)
			defer a.leave()
			st.at, st.member = run.from(), newMember(a, run, out)
		}
	}

	err := out.comment()
	if err == nil {
		err = st.serve(ctx, run)
	}
	c := st.finish(err)
	traceFrames(tracing.Current(ctx), st)
	s.closed(ctx, run.id, wire.name(), c, err, out, from, slog.Int("frames", st.frames), slog.Uint64("from", st.first), slog.Uint64("to", st.last))
	if ui != nil && ui.cut {
		panic(http.ErrAbortHandler)
	}
}
