package ingest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/rejoin/rejoin/internal/auth"
	"github.com/rejoin/rejoin/internal/problem"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
)

// FirstSeqHeader gives the number of a body's first event.
const FirstSeqHeader = "Rejoin-First-Seq"

// events serves POST /runs/{run_id}/events.
func (h *Handler) events(w http.ResponseWriter, r *http.Request) error {
	id, err := runID(r)
	if err != nil {
		return err
	}
	at, err := firstSeq(r)
	if err != nil {
		return err
	}
	held, run, err := h.runs.call(r.Context(), id)
	if err != nil {
		return err
	}
	defer h.runs.done(held)
	f := &feed{runs: &h.runs, held: held, run: run, at: at}
	if streams(r) {
		if err := f.settle(r.Context()); err != nil {
			return h.runs.why(err)
		}
		defer interrupt(w, f.run.Done())()
	}
	f.over = auth.Over(r.Context())
	defer interrupt(w, f.over)()
	in := newLines(r.Body, h.cfg.MaxEventBytes, &h.room)
	defer in.close()
	last, err := f.take(r.Context(), in)
	if errors.Is(err, auth.ErrExpired) {
		w.Header().Set("WWW-Authenticate", auth.ExpiredChallenge)
	}
	if err != nil {
		return h.runs.why(err)
	}
	return answer(w, http.StatusOK, map[string]any{"accepted": f.accepted, "last_seq": last})
}

// take publishes a whole body and gives the run's last number once all of it is stored.
func (f *feed) take(ctx context.Context, in *lines) (last uint64, err error) {
	if err := f.follows(ctx); err != nil {
		return 0, err
	}
	refused := f.body(ctx, in)
	if p := (*problem.Error)(nil); refused != nil && !errors.As(refused, &p) {
		return 0, refused
	}
	if errors.Is(refused, auth.ErrExpired) { // the context went with the reading, see serveStream
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), expiredTimeout)
		defer cancel()
	}
	// What came before a line that is refused is stored before that is said.
	if last, err = f.flush(ctx); err != nil {
		return 0, err
	}
	return last, refused
}

// firstSeq reads Rejoin-First-Seq, 0 where there is none.
func firstSeq(r *http.Request) (uint64, error) {
	values := r.Header.Values(FirstSeqHeader)
	if len(values) == 0 {
		return 0, nil
	}
	n, err := strconv.ParseUint(values[0], 10, 64)
	if len(values) > 1 || err != nil || n == 0 || n > subjects.MaxSeq || values[0][0] == '+' {
		return 0, problem.New(problem.BadRequest, "%s must be one integer 1 … 2^53-1, written as digits", FirstSeqHeader)
	}
	return n, nil
}

// body publishes a body's lines as they arrive. A line that is refused is a problem
// that names it.
func (f *feed) body(ctx context.Context, in *lines) error {
	for {
		line, err := in.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if errors.Is(err, errBody) {
			if lost := f.run.Err(); lost != nil {
				return lost // that is why reading was interrupted
			}
			if closed(f.over) {
				return errExpired.With("accepted", f.accepted)
			}
			return problem.New(problem.BadRequest, "the body broke off in line %d; the lines before it are stored", in.n+1).With("line", in.n+1)
		}
		if err == nil {
			err = f.line(ctx, line)
		}
		var event *producer.EventError
		var p *problem.Error
		if errors.As(err, &event) || errors.As(err, &p) {
			return problemOf(err).With("line", in.n)
		}
		if err != nil {
			return err
		}
	}
}

// expiredTimeout bounds how long it is tried to store what came before the credential of
// its producer was over.
const expiredTimeout = 10 * time.Second

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// interrupt ends the reading of a request's body when why is closed: the run takes no more
// events, or nobody may bring any, and a producer that only waits would not learn of it. The
// function returned stops that.
func interrupt(w http.ResponseWriter, why <-chan struct{}) func() {
	if why == nil {
		return func() {}
	}
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-why:
			_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
		case <-over:
		}
	})
	return func() {
		close(over)
		wg.Wait()
	}
}
