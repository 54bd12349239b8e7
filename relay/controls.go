package relay

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/rejoin/rejoin/internal/problem"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// wireControls is what the metrics call a stream of controls.
const wireControls = "controls"

// controls serves GET /runs/{run_id}/controls: what a producer over HTTP is sent.
func (s *Server) controls(w http.ResponseWriter, r *http.Request) error {
	if !canFlush(w) {
		return errNoFlush
	}
	unhurried(w)
	after, err := lastControl(r)
	if err != nil {
		return err
	}
	o, ctx, err := s.observers.admitWriter(r.Context())
	if err != nil {
		s.refused(err)
		return err
	}
	defer o.done()
	e, err := s.entry(r, identity(r.Context()).MayProduce)
	if err == nil {
		err = o.stream()
	}
	if err != nil {
		s.refused(err)
		return err
	}
	from := time.Now()
	beginStream(w, e.RunID)
	s.metrics.opened.WithLabelValues(wireControls).Inc()
	s.metrics.observers.Inc()
	defer s.metrics.observers.Dec()
	out := newSink(w, directTo(r), s.cfg.KeepAlive, s.cfg.WriteTimeout, o.cancel)
	defer out.close()
	c := &controlStream{s: s, id: e.RunID, after: after, given: map[uint64]bool{},
		stream: &stream{wire: protocol1{}, sink: out, leave: o.leave}}
	err = out.comment()
	if err == nil {
		err = c.serve(ctx)
	}
	why := c.stream.finish(err)
	s.closed(ctx, e.RunID, wireControls, why, err, out, from, slog.Int("controls", len(c.given)))
	return nil
}

// lastControl is the stream sequence of the last control that arrived, 0 for none.
func lastControl(r *http.Request) (uint64, error) {
	id := r.Header.Get("Last-Event-ID")
	if id == "" {
		return 0, nil
	}
	after, err := strconv.ParseUint(id, 10, 64)
	if err != nil || after > subjects.MaxSeq {
		return 0, problem.New(problem.BadRequest, "Last-Event-ID must be the id of a control, plain digits")
	}
	return after, nil
}

// controlStream is one open stream of controls.
type controlStream struct {
	s     *Server
	id    subjects.RunID
	after uint64
	given map[uint64]bool // by stream sequence
	*stream
}

var errRunEnded = errors.New("the run has ended")

// serve writes controls until the run has ended, which is no error, or until there is
// a reason to stop before.
func (c *controlStream) serve(ctx context.Context) error {
	watching, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var end subjects.End
	var seq uint64
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case why := <-c.leave:
			stop(leaving(why))
		case <-watching.Done():
		}
	})
	wg.Go(func() {
		var err error
		if end, seq, err = c.s.cfg.Hub.AwaitEnd(watching, c.id); err == nil {
			err = errRunEnded
		}
		stop(err)
	})
	err := c.s.cfg.Store.WatchControls(watching, c.id, c.after, func(control runs.Control) {
		if err := c.write(&control); err != nil {
			stop(err)
		}
	})
	if err != nil {
		stop(brokerFailure(err))
	}
	wg.Wait()
	if err := context.Cause(watching); !errors.Is(err, errRunEnded) {
		return err
	}
	// One that came just before the end, and was not heard.
	ctx, cancel := context.WithTimeout(ctx, actTimeout)
	defer cancel()
	rest, err := c.s.cfg.Store.Controls(ctx, c.id, c.after)
	if err != nil {
		return brokerFailure(err)
	}
	for i := range rest {
		if err := c.write(&rest[i]); err != nil {
			return err
		}
	}
	return c.writeEnd(end, seq)
}

// shown is a control, or the end, as its receiver sees it, without the body.
type shown struct {
	Type       string          `json:"type"`
	RunID      subjects.RunID  `json:"run_id"`
	RequestID  string          `json:"request_id,omitempty"`
	Reason     *string         `json:"reason,omitempty"`
	Seq        *uint64         `json:"seq,omitempty"`
	Persisted  *bool           `json:"persisted,omitempty"`
	Superseded *bool           `json:"superseded,omitempty"`
	NextRunID  *subjects.RunID `json:"next_run_id,omitempty"`
}

// write writes a control once. That no further message is taken is nobody's business
// but the fabric's.
func (c *controlStream) write(control *runs.Control) error {
	if control.Kind == runs.ControlEnded || c.given[control.Seq] || control.Kind == runs.ControlInput && control.Closed {
		return nil
	}
	c.given[control.Seq] = true
	v := shown{Type: string(control.Kind), RunID: c.id}
	body := "" // the name of the member that is the body
	switch {
	case control.Closed:
		v.Type, v.RequestID, v.Reason = "closed", control.ID, &control.Reason
	case control.Kind == runs.ControlStop:
		v.Reason = &control.Reason
	case control.Kind == runs.ControlAnswer:
		v.RequestID, body = control.ID, "outcome"
	case control.Kind == runs.ControlInput:
		body = "input"
	}
	return c.message(v, strconv.FormatUint(control.Seq, 10), body, control.Body)
}

func (c *controlStream) writeEnd(end subjects.End, seq uint64) error {
	reason := string(end.Reason)
	v := shown{Type: "end", RunID: c.id, Reason: &reason, Seq: &seq, Persisted: &end.Persisted, Superseded: &end.Superseded}
	if end.NextRunID != "" {
		v.NextRunID = &end.NextRunID
	}
	return c.message(v, "", "", nil)
}

// message sends one SSE message. Without an id the receiver's place stays where it is.
func (c *controlStream) message(v shown, id, member string, body []byte) error {
	head, err := marshal(v)
	if err != nil {
		return err
	}
	err = c.sink.put(func(out *chunks) {
		out.text("event: " + v.Type + "\n")
		if id != "" {
			out.text("id: " + id + "\n")
		}
		out.text("data: ")
		if member == "" {
			out.json(head)
		} else {
			out.json(head[:len(head)-1])
			out.text(`,"` + member + `":`)
			out.json(body)
			out.text("}")
		}
		out.text("\n\n")
	})
	if err != nil {
		return err
	}
	return c.sink.flush()
}
