package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/active"
)

// wireActive is what the metrics call a stream of live runs.
const wireActive = "active"

// changesAtOnce is how many changes a stream takes before it looks whether it has to leave.
const changesAtOnce = 256

// activeRuns serves GET /runs/active: which of the caller's chats are live, as a stream or
// as one answer.
func (s *Server) activeRuns(w http.ResponseWriter, r *http.Request) error {
	realm := identity(r.Context()).Realm
	once := wantsJSON(r)
	if !once && !canFlush(w) {
		return errNoFlush
	}
	unhurried(w)
	w.Header().Add("Vary", "Accept")
	o, ctx, err := s.observers.admit(r.Context())
	if err != nil {
		s.refused(err)
		return err
	}
	defer o.done()
	leave, err := s.switches.enter(o, realm, "")
	if err != nil {
		s.refused(err)
		return err
	}
	defer leave()
	feed, err := s.cfg.Active.Subscribe(ctx, realm)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", consumer.ErrBrokerUnavailable, err)
	}
	if err == nil {
		defer feed.Close()
		if !once {
			err = o.stream()
		}
	}
	if err != nil {
		s.refused(err)
		return err
	}
	if once {
		return s.writeActive(w, feed)
	}
	s.streamActive(ctx, w, directTo(r), o, feed)
	return nil
}

// wantsJSON says whether a request is for one answer. A client that takes streams too gets
// one, and so does a client that does not say.
func wantsJSON(r *http.Request) bool {
	var types []string
	for _, line := range r.Header.Values("Accept") {
		for one := range strings.SplitSeq(line, ",") {
			if t, _, err := mime.ParseMediaType(one); err == nil {
				types = append(types, t)
			}
		}
	}
	return slices.Contains(types, "application/json") && !slices.Contains(types, "text/event-stream")
}

// writeActive answers with the runs that are live now.
func (s *Server) writeActive(w http.ResponseWriter, feed *active.Subscription) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	out := s.chunked(w, nil)
	appendActive(out, feed)
	out.text("\n")
	out.pass()
	return out.err
}

func appendActive(out *chunks, feed *active.Subscription) {
	out.text(`{"runs":[`)
	for i, run := range feed.Runs {
		if i > 0 {
			out.text(",")
		}
		out.json(run.JSON())
	}
	out.text("]")
	if feed.Truncated {
		out.text(`,"truncated":true`)
	}
	out.text("}")
}

// streamActive answers with the same and then what changes, until there is a reason to
// stop.
func (s *Server) streamActive(ctx context.Context, w http.ResponseWriter, d *direct, o *observer, feed *active.Subscription) {
	from := time.Now()
	beginStream(w, "")
	s.metrics.opened.WithLabelValues(wireActive).Inc()
	s.metrics.observers.Inc()
	defer s.metrics.observers.Dec()
	out := newSink(w, d, s.cfg.KeepAlive, s.cfg.WriteTimeout, o.cancel)
	defer out.close() // also when something below panics
	a := &activeStream{feed: feed, stream: &stream{wire: protocol1{}, sink: out, leave: o.leave}}
	err := a.serve(ctx)
	s.closed(ctx, "", wireActive, a.stream.finish(err), err, out, from, slog.Int("changes", a.changes))
}

// activeStream is one open stream of live runs. Nothing of it is kept for a client that
// comes back: it begins with a snapshot again.
type activeStream struct {
	feed    *active.Subscription
	changes int
	*stream
}

// serve writes until there is a reason to stop, which it returns.
func (a *activeStream) serve(ctx context.Context) error {
	err := a.sink.put(func(out *chunks) {
		out.text("event: snapshot\ndata: ")
		appendActive(out, a.feed)
		out.text("\n\n")
	})
	a.feed.Runs = nil // as many as there are streams would keep what is long over
	for err == nil {
		select {
		case c := <-a.leave:
			return leaving(c)
		default:
		}
		more := a.feed.Changed()
		var changed []*active.Run
		if changed, err = a.feed.Take(changesAtOnce); err != nil {
			return err
		}
		for i := 0; i < len(changed) && err == nil; i++ {
			err = a.sink.put(func(out *chunks) {
				out.text("event: run\ndata: ")
				out.json(changed[i].JSON())
				out.text("\n\n")
			})
			a.changes++
		}
		if len(changed) == 0 && err == nil {
			if err = a.sink.flush(); err == nil {
				err = wait(ctx, a.leave, more)
			}
		}
	}
	if ctx.Err() != nil && !errors.Is(err, errWrite) {
		return context.Cause(ctx)
	}
	return err
}
